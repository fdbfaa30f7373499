"""Checks a requirement before its templates are filled: known markups, communities, and their forms."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from math import perm, prod

from biasgrid.catalogs.errors import Problem, UserError, close_names, nearest, place
from biasgrid.catalogs.lint.rules.placeholders import is_misspelt, loose_markups
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.loading.template_files import astray, no_catalog
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.requirements import Requirement
from biasgrid.catalogs.wording import SLOT, slots, stray_paraphrases, wordings
from biasgrid.tasks.generate.communities import CastCommunity, cast_communities, find_sets, list_names
from biasgrid.tasks.generate.instantiate import fitting_templates


def find_unknown_communities(
    requirement: Requirement,
    language: str,
    casts: Mapping[str, tuple[CastCommunity, ...]],
    texts: Collection[str],
    catalog: Catalog,
) -> list[Problem]:
    """One problem per markup without communities, and per community without the forms that templates use."""
    where = f"requirement `{requirement.name}`"
    found: list[Problem] = []
    for markup, communities in casts.items():
        slots, forms = _count_asking(markup, texts)
        if not communities:
            what = f"names no communities in `{language}`, and {_count_templates(slots, f'for `{{{markup}}}`')}"
            found.append(Problem(what, where, "list them under `communities`"))
        strangers = [community for community in communities if forms and not community.forms]
        if strangers and isinstance(requirement.communities, str):
            what = f"set `{requirement.communities}` has no forms of `{strangers[0].id}` in `{language}`"
            found.append(Problem(what, where, "add them, or leave the language out of the requirement"))
            continue
        found += [_unknown_problem(stranger, markup, forms, language, where, catalog) for stranger in strangers]
        found += (
            [_duplicate_problem(one, other, where) for one, other in _find_duplicates(communities)]
            if forms
            else []
        )
    return found


def _find_duplicates(communities: tuple[CastCommunity, ...]) -> list[tuple[CastCommunity, CastCommunity]]:
    """Literals that mean the same community, which would be compared with itself."""
    return [
        (one, other)
        for one, other in combinations([each for each in communities if each.literal and each.forms], 2)
        if one.forms == other.forms
    ]


def _duplicate_problem(one: CastCommunity, other: CastCommunity, where: str) -> Problem:
    what = f"`{one.literal}` and `{other.literal}` are the same community"
    return Problem(what, where, "keep one of them under `communities`")


def find_missing_communities(
    requirement: Requirement, language: str, casts: Mapping[str, tuple[CastCommunity, ...]], texts: Collection[str]
) -> list[Problem]:
    """A problem if every template compares more communities than the requirement names, so that none is usable."""
    needed = [
        max((slot_count(text, markup) - len(cast) for markup, cast in casts.items()), default=0) for text in texts
    ]
    if not needed or min(needed) <= 0:
        return []
    named = sum(map(len, casts.values()))
    what = f"names too few communities in `{language}` ({named}): each of its templates compares more"
    return [Problem(what, f"requirement `{requirement.name}`", "name at least one more under `communities`")]


def slot_count(text: str, markup: str) -> int:
    """Number of distinct communities of a markup in a text."""
    return sum(slot.markup == markup for slot in slots(text))


def _count_asking(markup: str, texts: Collection[str]) -> tuple[int, int]:
    """Number of texts with the markup, and of texts with a form of it."""
    held = [[match["form"] for match in SLOT.finditer(text) if match["markup"] == markup] for text in texts]
    return sum(map(bool, held)), sum(any(forms) for forms in held)


def _unknown_problem(
    stranger: CastCommunity, markup: str, forms: int, language: str, where: str, catalog: Catalog
) -> Problem:
    name = stranger.literal or stranger.id
    known = [name for found in find_sets(markup, catalog) for name in list_names(found, language)]
    what = (
        f"community `{name}` is not in the catalog in `{language}`, and {_count_templates(forms, 'for its forms')}"
    )
    advice = nearest(name, known) or "name one that the catalog has"
    return Problem(what, where, f"{advice}; or name the library that it is for with `--library`")


def _count_templates(count: int, what: str) -> str:
    return f"{count} of the templates {'asks' if count == 1 else 'ask'} {what}"


def check_requirement(requirement: Requirement, language: str, catalog: Catalog) -> list[Problem]:
    """Every problem that would leave a placeholder in a request, with file and line of its template."""
    templates = fitting_templates(requirement, language, catalog)
    held = {template.concern for template in templates}
    absent = [concern for concern in requirement.asked_concerns if concern not in held]
    if absent:
        return [_no_template_problem(requirement, concern, language, catalog) for concern in absent]
    if language not in catalog.languages:
        return [no_catalog(language, place(templates[0].file, templates[0].line))]
    texts = {
        template.id: " ".join(wording.text for wording in wordings(template, catalog.languages[language]))
        for template in templates
    }
    asked = {slot.markup for text in texts.values() for slot in slots(text)}
    known = known_markups(requirement, catalog)
    try:
        casts = {
            markup: cast_communities(requirement, language, markup, catalog) for markup in sorted(asked & known)
        }
    except UserError as unknown_set:
        named = f"requirement `{requirement.name}`"
        return [Problem(wrong.what, wrong.where or named, wrong.remedy) for wrong in unknown_set.mistakes]
    other = _check_set_markup(requirement, catalog, asked) or _check_own_markup(requirement, asked, catalog)
    if other:
        return [other]
    if large := _large_problems(requirement, casts, templates, texts):
        return large
    found = find_unknown_communities(requirement, language, casts, texts.values(), catalog)
    if not found:
        found = _lonely_problems(
            requirement, casts, [t for t in templates if t.oracle.type == "same value"], texts
        )
    return (found or find_missing_communities(requirement, language, casts, texts.values())) + [
        mistake
        for template in templates
        for mistake in _check_template(
            template, texts[template.id], requirement, known, casts, catalog.languages[language]
        )
    ]


def _check_set_markup(requirement: Requirement, catalog: Catalog, asked: set[str]) -> Problem | None:
    """A problem if the set's communities fill none of the markups in the templates."""
    named = catalog.communities.get(requirement.communities) if isinstance(requirement.communities, str) else None
    if named is None or requirement.markup or not asked or named.markup in asked:
        return None
    fitting = ", ".join(f"`{each.id}`" for each in catalog.communities.values() if each.markup in asked)
    held = ", ".join(f"`{{{markup}}}`" for markup in sorted(asked))
    what = f"community set `{named.id}` fills `{{{named.markup}}}`, and the templates hold {held}"
    return Problem(what, f"requirement `{requirement.name}`", f"name one of {fitting}")


def _check_own_markup(requirement: Requirement, asked: set[str], catalog: Catalog) -> Problem | None:
    """A problem if neither a template nor a community set has the markup that the requirement names."""
    known = asked | {each.markup for each in catalog.communities.values()}
    if not requirement.markup or not asked or requirement.markup in known:
        return None
    what = f"`markup` is `{requirement.markup}`, which none of its templates holds"
    return Problem(what, f"requirement `{requirement.name}`", nearest(requirement.markup, asked))


def _large_problems(
    requirement: Requirement,
    casts: Mapping[str, tuple[CastCommunity, ...]],
    templates: Collection[Template],
    texts: Mapping[str, str],
) -> list[Problem]:
    """A problem for the template with most instances, if these are more than memory and money should hold."""
    counts = {
        template.id: prod(
            perm(len(cast), slot_count(texts[template.id], markup)) for markup, cast in casts.items()
        )
        for template in templates
    }
    largest = max(counts, key=lambda name: counts[name], default="")
    if not largest or counts[largest] <= MOST_INSTANCES:
        return []
    named = sum(map(len, casts.values()))
    what = (
        f"template `{largest}` would be asked about {named:,} communities in {counts[largest]:,} orders, and at "
        f"most {MOST_INSTANCES:,} instances of a template are made"
    )
    return [Problem(what, f"requirement `{requirement.name}`", "name fewer under `communities`")]


MOST_INSTANCES = 200_000
"""Prompts of one template and sample, which take some 5 kB each until they have landed."""


def _lonely_problems(
    requirement: Requirement,
    casts: Mapping[str, tuple[CastCommunity, ...]],
    templates: Collection[Template],
    texts: Mapping[str, str],
) -> list[Problem]:
    """A problem if templates that compare communities with each other would have one alone."""
    comparing = [t for t in templates if any(slot_count(texts[t.id], markup) for markup in casts)]
    if not comparing or any(len(cast) != 1 for cast in casts.values()):
        return []
    what = f"`communities` of one: a same-value test compares nothing ({len(comparing)} of its templates are such)"
    return [Problem(what, f"requirement `{requirement.name}`", "name at least one more under `communities`")]


def known_markups(requirement: Requirement, catalog: Catalog) -> set[str]:
    """The markups that a requirement's templates may contain."""
    if requirement.markup:
        return {requirement.markup}
    if isinstance(requirement.communities, str) and requirement.communities in catalog.communities:
        return {catalog.communities[requirement.communities].markup}
    found = (catalog.concerns.get(name) for name in requirement.asked_concerns)
    return {markup for concern in found if concern for markup in concern.markups}


def _no_template_problem(requirement: Requirement, concern: str, language: str, catalog: Catalog) -> Problem:
    held = [t for t in catalog.templates if t.concern == concern]
    spoken = sorted({t.language for t in held if t.sector == requirement.sector})
    have = f"it has them in {', '.join(f'`{tag}`' for tag in spoken)}" if spoken else "it has none in any language"
    sectors = sorted({t.sector for t in held if t.sector and t.sector != requirement.sector})
    also = f", and of sectors {', '.join(f'`{name}`' for name in sectors)}" if sectors and not spoken else ""
    if not spoken and not sectors:
        others = sorted({t.concern for t in catalog.templates if t.language == language})
        also = f"; in `{language}` it has {', '.join(f'`{name}`' for name in others) or 'no templates'}"
    misspelt = nearest(requirement.sector, sectors) if requirement.sector and not spoken else ""
    named = f"concern `{concern}`" + (f", sector `{requirement.sector}`" if requirement.sector else "")
    return Problem(
        f"requirement `{requirement.name}`: library `{catalog.library}` has no template of {named} in "
        f"`{language}` for its inputs and reflections; {have}{also}",
        remedy=misspelt
        or "change `concern`, `languages`, `sector`, `inputs` or `reflections`, or name a library that has them",
    )


def _check_template(
    template: Template,
    text: str,
    requirement: Requirement,
    known: set[str],
    casts: dict[str, tuple[CastCommunity, ...]],
    language: LanguageCatalog,
) -> Iterator[Problem]:
    where = place(template.file, template.line)
    if is_misspelt(template, language):
        what = f"template `{template.id}` names the format `{template.format}`, which is none of `{language.id}`"
        yield Problem(what, where, nearest(template.format, language.formats))
    for loose in loose_markups(template, known):
        yield Problem(f"template `{template.id}` holds {loose.reason} `{loose.text}`", where, loose.remedy)
    yield from (astray(template, number, where) for number in stray_paraphrases(template))
    for match in SLOT.finditer(text):
        if match["markup"] in known:
            yield from _check_slot(template, requirement, match, casts[match["markup"]], where)


def _check_slot(
    template: Template,
    requirement: Requirement,
    slot: re.Match[str],
    communities: tuple[CastCommunity, ...],
    where: str,
) -> Iterator[Problem]:
    asked = f"template `{template.id}` asks for `{slot[0]}`"
    lacking = [community for community in communities if community.forms and community.form(slot["form"]) is None]
    if lacking and slot["form"]:
        named = ", ".join(f"`{community.id}`" for community in lacking[:3]) + (", …" if len(lacking) > 3 else "")
        close = close_names(slot["form"], lacking[0].forms)
        known = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(lacking[0].forms)}"
        what = f"{asked}, and there is no such form of {named} in `{template.language}`"
        yield Problem(what, where, f"{known} Or add the form to their set in catalogs/communities")
    for community in communities:
        text = community.form(slot["form"])
        if text is None and slot["form"] is None:
            yield Problem(
                f"{asked}, and the communities of requirement `{requirement.name}` are named by a set",
                where,
                "list them as words under `communities`",
            )
        elif text and re.search(r"[{}]", text):
            yield Problem(f"community `{text}` holds a brace", f"requirement `{requirement.name}`", "remove it")
