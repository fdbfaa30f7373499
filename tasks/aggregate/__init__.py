"""verdicts → findings."""
