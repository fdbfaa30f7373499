"""Commands that show, compare and review results."""
