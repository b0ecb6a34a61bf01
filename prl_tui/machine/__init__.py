"""Facts about this box: GPUs, host, ports, directories."""
