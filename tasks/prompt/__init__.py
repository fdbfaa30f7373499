"""cases → responses."""
