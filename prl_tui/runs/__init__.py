"""The life of a run: its folder, supervisor, state and stop."""
