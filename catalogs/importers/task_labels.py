"""Whether the words of a scene's tasks suggest other stereotypes than their order does."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Self

from biasgrid.catalogs.schema.scenes import Scene

WORD: Final = re.compile(r"[^\W\d_]{4,}")
STEM: Final = 6
"""Letters by which words are compared."""
FEWEST: Final = 50
"""Tasks of known stereotype that are needed to judge others."""
DOUBTFUL: Final = 4.0
"""How much likelier, as the logarithm of their ratio, another order of labels is. Of 49 published scenes 6 are
doubtful as they are, 44 with the labels reversed, 35 with two of four exchanged."""


@dataclass(frozen=True, slots=True)
class TaskLabels:
    """Weights of words: positive where they are of men's stereotypes."""

    weights: dict[str, float]

    @classmethod
    def learn(cls, scenes: Iterable[Scene], language: str) -> Self:
        """Naive Bayes over tasks of known stereotype; without weights if these are few."""
        known = [
            (task.to, _stems(task.text[language]))
            for scene in scenes
            if scene.is_confirmed
            for task in scene.tasks
            if task.to in ("men", "women") and language in task.text
        ]
        counts = {group: Counter(stem for to, own in known if to == group for stem in own) for group in LABELS}
        stems = set().union(*counts.values()) if len(known) >= FEWEST else set()
        totals = {group: sum(own.values()) + len(stems) / 2 for group, own in counts.items()}
        of_men, of_women = LABELS
        return cls(
            {
                stem: math.log((counts[of_men][stem] + 0.5) / totals[of_men])
                - math.log((counts[of_women][stem] + 0.5) / totals[of_women])
                for stem in stems
            }
        )

    def are_doubtful(self, tasks: Sequence[str], of_men: int) -> bool:
        """Whether the first `of_men` tasks are much less likely to be those of men's stereotypes than others."""
        weights = [sum(self.weights.get(stem, 0.0) for stem in _stems(task)) for task in tasks]
        likeliest = max(sum(chosen) for chosen in combinations(weights, of_men))
        return 2 * (likeliest - sum(weights[:of_men])) > DOUBTFUL


LABELS: Final = ("men", "women")


def _stems(text: str) -> set[str]:
    return {word[:STEM] for word in WORD.findall(text.lower())}
