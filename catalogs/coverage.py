"""Counts prompts per template and cell without rendering them."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import CommunitySet, Template
from biasgrid.catalogs.schema.requirements import Requirement
from biasgrid.catalogs.wording import Slot, Wording, slots, wordings

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


MANY_INSTANCES: Final = 8
"""Instances a template above which all-or-nothing is so strict that a requirement should state its measure."""


def instances_per_template(requirement: Requirement, catalog: Catalog) -> float:
    """Mean number of prompts of the templates that a requirement asks, in all of its languages; 0 without any."""
    asked = [
        template
        for template in catalog.templates
        if template.language in requirement.languages
        and template.concern in {catalog.concern_names.get(name.lower()) for name in requirement.asked_concerns}
        and (template.sector, template.input in requirement.inputs) == (requirement.sector, True)
        and template.reflection in requirement.reflections
    ]
    own = {language: _own_communities(requirement, language, catalog) for language in requirement.languages}
    counts = [count for one in asked if (count := _prompts(one, own[one.language], catalog))]
    return sum(counts) / len(counts) if counts else 0.0


def _own_communities(requirement: Requirement, language: str, catalog: Catalog) -> frozenset[str]:
    """The communities that a requirement names; empty if it names none."""
    named = requirement.communities
    if isinstance(named, str):
        found = catalog.communities.get(named)
        return frozenset(community.id for community in found.communities) if found else frozenset()
    return frozenset((named or {}).get(language, ()))


def _prompts(template: Template, named: frozenset[str], catalog: Catalog) -> int:
    language = catalog.languages.get(template.language)
    worded = wordings(template, language) if language else ()
    open_slots = slots(worded[0].text) if worded else ()
    casts = tuple(named or _cast(slot.markup, template.language, catalog) for slot in open_slots)
    return _choices(casts) * len(worded)


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
