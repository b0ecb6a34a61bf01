"""The demo training program: a small real DDP language model."""
