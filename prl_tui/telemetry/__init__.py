"""What a run says: log index, escapes, metrics, progress."""
