"""The command line: one file a verb. Everything heavy is imported inside them."""
