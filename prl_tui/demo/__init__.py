"""The demo training program: a small real DDP language model, so that every screen can be tried without a cluster."""
