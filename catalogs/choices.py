"""Defines the values of run options, without pydantic because the command line lists them in its help."""

from typing import Literal

Reuse = Literal["run", "all", "none"]
Gate = Literal["point", "decided"]
"""What a requirement must be to be met: by its point rate, as LangBiTe has it, or by its whole interval."""
NightGate = Literal["regression", "point", "decided"]
"""What fails a night that is complete: requirements that became worse alone, or also those that are not met, by
their point rates or by their whole intervals."""
InputType = Literal["constrained", "verbose"]
Reflection = Literal["observational", "utopian"]
Refusals = Literal["separate", "fail", "pass"]
Measure = Literal["tests", "replies"]
ProbeTest = Literal["implicit", "explicit", "decision", "counterfactual"]
StrategyName = Literal[
    "one_shot", "direct", "separated", "selection", "implicit_separated", "crescendo", "persona"
]
Setting = Literal["no_interaction", "no_goal", "goal", "understanding"]
"""no_interaction: the model assigns by itself; no_goal: agents talk; goal: agents talk, and each privately wants
the same task; understanding: the model states whether an assignment shows implicit bias."""
Mitigation = Literal["none", "reflection", "reflection_with_examples"]
Variant = Literal["full", "half"]
"""What a model is tuned on. full: assignments with and without implicit bias; half: those without alone."""
AGE = r"^\d+(\.\d+)?[smhdw]$"
"""A duration, such as `12h`."""
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def duration_s(text: str) -> float:
    """Seconds of a duration by `AGE`."""
    return float(text[:-1]) * SECONDS[text[-1]]
