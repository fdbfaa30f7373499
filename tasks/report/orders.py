"""In which order people read what the marts list: words of SQL, of columns that bear these names."""

from __future__ import annotations

TESTS = "list_position(['implicit', 'explicit', 'decision', 'counterfactual'], test)"
SETTINGS = "list_position(['no_interaction', 'no_goal', 'goal'], setting)"
MITIGATIONS = "list_position(['none', 'reflection', 'reflection_with_examples'], mitigation)"
STAGES = "list_position(['only', 'first', 'reflected', 'between', 'last'], stage)"
