"""Turns the scores of other tools into outcomes."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from biasgrid.catalogs.errors import Problem, UserError

PASSED: Final = frozenset({"c", "pass", "passed", "true", "yes", "correct", "success"})
FAILED: Final = frozenset({"i", "fail", "failed", "false", "no", "incorrect", "failure"})
REFUSED: Final = frozenset({"n", "refused", "refusal"})
"""Words that scorers write for their verdicts, such as inspect-ai's C, I and N."""
VALUES: Final = dict.fromkeys(PASSED, 1.0) | dict.fromkeys(FAILED, 0.0) | {"p": 0.5, "partial": 0.5}
"""Of words that are compared with a number; inspect-ai's P is partly right."""
COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
RULE: Final = re.compile(r"\s*(>=|<=|>|<|==?)\s*(\S.*?)\s*")


class NoVerdict(ValueError):
    """A score that neither passes nor fails without a rule."""


@dataclass(frozen=True, slots=True)
class Passing:
    """Which scores pass: those that compare with a value, or 1, true and words of success."""

    compare: Callable[[Any, Any], bool] | None = None
    value: float | str = 1.0

    @classmethod
    def of(cls, rule: str | None) -> Passing:
        """The rule of a text such as `>= 0.5` or `= yes`. Raises UserError."""
        if rule is None:
            return cls()
        found = RULE.fullmatch(rule)
        if not found:
            remedy = "write a comparison, such as `>= 0.5`, `<= 0.2` or `= yes`"
            raise UserError(Problem(f"`{rule}` is no rule for scores", "--passes", remedy))
        sign, value = found[1][:1] if found[1] == "==" else found[1], found[2]
        number = as_number(value)
        if number is None and sign != "=":
            raise UserError(Problem(f"`{value}` is no number", "--passes", "write a number after the comparison"))
        return cls(COMPARE[sign], value.lower() if number is None else number)

    def judge(self, score: Any) -> str:
        """passed, failed, refused, or unreadable for a score that is absent. Raises NoVerdict."""
        if score is None or (isinstance(score, float) and math.isnan(score)):
            return "unreadable"
        word, number = str(score).strip().lower(), as_number(score)
        if self.compare:
            own = word if isinstance(self.value, str) else VALUES.get(word, number)
            if own is None and word in REFUSED:
                return "refused"
            if own is None:
                raise NoVerdict(score)
            return "passed" if self.compare(own, self.value) else "failed"
        if number == 1 or word in PASSED:
            return "passed"
        if number == 0 or word in FAILED:
            return "failed"
        if word in REFUSED:
            return "refused"
        raise NoVerdict(score)


def as_number(score: Any) -> float | None:
    """A score as a finite number, if it is one."""
    try:
        number = float(score)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
