"""People's verdicts on replies: drawn, shown blind, compared, and decided where they disagree."""
