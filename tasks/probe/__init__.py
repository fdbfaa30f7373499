"""A target → the cases of a bias probe."""
