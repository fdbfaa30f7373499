"""Counts prompts per template and cell without rendering them, and the templates that a decision needs."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import atan, cos, pi, sin, sqrt
from statistics import NormalDist
from typing import Final

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import CommunitySet, Template
from biasgrid.catalogs.schema.wording import Slot, Wording, slots, wordings

CONFIDENCE: Final = 0.975
FEWEST: Final = 2
"""Minimum number of templates, since one has no spread and so no interval."""
_EXACT: Final = 200
"""Degrees of freedom up to which the distribution is summed; beyond, its expansion is exact to nine digits."""


def templates_needed(tolerance: float) -> int | None:
    """Minimum templates to confirm a perfect score (38 at .9; None at 1); raises ValueError outside 0–1."""
    if not 0 <= tolerance <= 1:
        raise ValueError(f"`{tolerance}` is no share: a tolerance goes from 0 to 1")
    if tolerance == 1:
        return None
    enough = FEWEST
    while perfect_lower_bound(enough) < tolerance:
        enough *= 2
    return FEWEST + bisect_left(range(FEWEST, enough), tolerance, key=perfect_lower_bound)


def perfect_lower_bound(templates: int) -> float:
    """Lower interval bound, 0–1, of a perfect score of that many templates (at least two)."""
    return templates / (templates + t_quantile(CONFIDENCE, templates - 1) ** 2)


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t at a probability between 0 and 1, by degrees of freedom, to nine digits."""
    if not 0 < probability < 1 or freedom < 1:
        raise ValueError(f"t has no quantile at `{probability}` with `{freedom}` degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    return (
        _quantile_by_bisection(probability, freedom)
        if freedom <= _EXACT
        else _quantile_by_expansion(probability, freedom)
    )


def _quantile_by_bisection(probability: float, freedom: int) -> float:
    """Quantile by bisection of the distribution."""
    low, high = 0.0, 1.0
    while (1 + _central(high, freedom)) / 2 < probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        below = (1 + _central(middle, freedom)) / 2 < probability
        low, high = (middle, high) if below else (low, middle)
    return high


def _central(t: float, freedom: int) -> float:
    """Probability between −t and t: Abramowitz and Stegun, 26.7.3 (odd degrees) and 26.7.4 (even)."""
    odd = freedom % 2
    angle = atan(t / sqrt(freedom))
    term, total = cos(angle) if odd else 1.0, 0.0
    for factor in range(1 + odd, freedom, 2):
        total += term
        term *= cos(angle) ** 2 * factor / (factor + 1)
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def _quantile_by_expansion(probability: float, freedom: int) -> float:
    """Quantile by expansion of the normal quantile: Abramowitz and Stegun, 26.7.5."""
    z = NormalDist().inv_cdf(probability)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / float(freedom) ** power for power, term in enumerate(terms))


CELLS = tuple(product(("constrained", "verbose"), ("observational", "utopian")))
"""Input × reflection."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A template with its number of prompts: ordered choices of distinct communities × wordings."""

    template: Template
    instances: int | None
    """None if it is unknown; `trouble` has the reason."""
    trouble: str = ""
    """Reason for no prompts or an unknown number."""
    doubles: bool = False
    """Whether an earlier template of its cell gives the same prompts and so counts for both."""


def count_prompts(templates: Iterable[Template], catalog: Catalog) -> Iterator[Counted]:
    """Each template with its number of prompts if a requirement names no communities."""
    seen: set[Hashable] = set()
    for template in templates:
        language = catalog.languages.get(template.language)
        worded = wordings(template, language) if language else ()
        asked = _prompts_key(template, worded)
        if asked in seen:
            yield Counted(template, 0, doubles=True)
        elif not worded:
            yield Counted(template, None, f"the catalog has no language `{template.language}`")
        else:
            yield _count(template, worded, catalog)
        seen.add(asked)


def default_set(markup: str, catalog: Catalog) -> CommunitySet | None:
    """Default set of a markup: the first that lists its communities itself, else the first."""
    found = [each for each in catalog.communities.values() if each.markup == markup]
    return next((each for each in found if each.lists), found[0] if found else None)


def missing(
    templates: Iterable[Template], concerns: Iterable[str], languages: Iterable[str]
) -> list[Mapping[str, str]]:
    """Cells without a template as `language`, `concern`, `input`, `reflection`, in sort order."""
    filled = {(t.language, t.concern, t.input, t.reflection) for t in templates}
    return [
        {"language": language, "concern": concern, "input": kind, "reflection": reflection}
        for language, concern, (kind, reflection) in product(sorted(languages), sorted(concerns), CELLS)
        if (language, concern, kind, reflection) not in filled
    ]


def _prompts_key(template: Template, worded: tuple[Wording, ...]) -> Hashable:
    """Key of templates with the same prompts: their cell, oracle and all texts sent."""
    cell = (template.language, template.concern, template.sector, template.input, template.reflection)
    texts = tuple(wording.text for wording in worded)
    unframed = (template.prefix, template.prompt, template.paraphrases, template.format)
    return cell, template.oracle.model_dump_json(), texts or unframed


def _count(template: Template, worded: tuple[Wording, ...], catalog: Catalog) -> Counted:
    open_slots = slots(worded[0].text)
    casts = {slot.markup: _cast(slot.markup, template.language, catalog) for slot in open_slots}
    unfilled = [markup for markup, cast in casts.items() if not cast]
    if unfilled:
        return Counted(template, None, f"no community set fills `{{{unfilled[0]}}}` in `{template.language}`")
    choices = _choices(tuple(casts[slot.markup] for slot in open_slots))
    trouble = "" if choices else _too_few(open_slots, casts)
    return Counted(template, choices * len(worded), trouble)


def _cast(markup: str, language: str, catalog: Catalog) -> frozenset[str]:
    """Community ids that fill a markup by default; empty if none has a form in the language."""
    found = default_set(markup, catalog)
    communities = found.communities if found else ()
    spoken = any(community.forms.get(language) for community in communities)
    return frozenset(community.id for community in communities) if spoken else frozenset()


@lru_cache(maxsize=1024)
def _choices(casts: tuple[frozenset[str], ...]) -> int:
    """Number of ways to fill the slots with distinct communities, each from its own cast; 1 without slots."""
    ways = Counter({0: 1})  # by the slots that are filled, as bits
    for community in frozenset[str]().union(*casts):
        placed: Counter[int] = Counter()
        for slot, cast in enumerate(casts):
            if community in cast:
                placed += Counter({filled | 1 << slot: n for filled, n in ways.items() if not filled >> slot & 1})
        ways += placed
    return ways[(1 << len(casts)) - 1]


def _too_few(open_slots: tuple[Slot, ...], casts: Mapping[str, frozenset[str]]) -> str:
    asked = Counter(slot.markup for slot in open_slots)
    named = [
        f"{count} communities of `{{{markup}}}`, which has {len(casts[markup])}" for markup, count in asked.items()
    ]
    return f"asks for {' and '.join(named)}: makes no prompt"
