"""What a body may be, and how the best such body is found: one file a method."""
