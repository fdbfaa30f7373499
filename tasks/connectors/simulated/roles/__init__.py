"""Replies of simulated respondents in each kind of run."""
