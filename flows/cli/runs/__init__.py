"""Commands that start, plan or resume runs."""
