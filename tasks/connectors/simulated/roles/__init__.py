"""What simulated respondents say in each kind of run."""
