"""Robot and logs in, an estimate out."""
