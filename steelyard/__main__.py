"""``python -m steelyard``: the same as the command."""

from steelyard.cli.main import main

if __name__ == "__main__":
    main()
