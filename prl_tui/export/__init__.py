"""A launch plan as text: one small file per format."""
