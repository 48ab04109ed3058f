"""Results → files: whole or not at all, inputs never overwritten."""
