"""responses → verdicts."""
