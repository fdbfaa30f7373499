"""verdicts → findings: the warehouse is built, and asked for what is in it."""
