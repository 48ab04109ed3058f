"""The verbs of the command line; ``cli.py`` puts them together. Everything heavy is imported inside them."""
