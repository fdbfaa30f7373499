"""Checks references across files: duplicate names, and names of entries that do not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.loading.catalog import Reading


def entry_mistakes(reading: Reading) -> Iterator[Problem]:
    """All errors among concerns, communities, languages, requirements, respondents and models."""
    yield from _concern_names(reading)
    yield from _concern_markups(reading)
    yield from _communities(reading)
    yield from _framings(reading)
    yield from _requirements(reading)
    yield from _respondents(reading)
    yield from _model_names(reading)


def _at(reading: Reading, folder: str, name: str, *location: str | int) -> str:
    return reading.documents[folder, name].place(*location)


def _concern_names(reading: Reading) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for concern in reading.catalog.concerns.values():
        places: list[tuple[str, tuple[str | int, ...]]] = [(concern.id, ("id",)), (concern.name, ("name",))]
        places += [(alias, ("aliases", number)) for number, alias in enumerate(concern.aliases)]
        for name, location in places:
            owner = owners.setdefault(name.lower(), concern.id)
            if owner != concern.id:
                what = f"concern `{concern.id}` is also called `{name}`, as `{owner}` is"
                yield Problem(what, _at(reading, "concerns", concern.id, *location), "keep it with one of them")


def _concern_markups(reading: Reading) -> Iterator[Problem]:
    filled = {found.markup for found in reading.catalog.communities.values()}
    for concern in reading.catalog.concerns.values():
        for number, markup in enumerate(concern.markups):
            if markup not in filled:
                where = _at(reading, "concerns", concern.id, "markups", number)
                what = f"no community set fills `{{{markup}}}`, a markup of concern `{concern.id}`"
                yield Problem(what, where, nearest(markup, filled))


def _communities(reading: Reading) -> Iterator[Problem]:
    for found in reading.catalog.communities.values():
        seen: set[str] = set()
        for number, community in enumerate(found.communities):
            at = ("communities", number)
            if community.id in seen:
                what = f"community `{community.id}` stands twice in set `{found.id}`"
                where = _at(reading, "communities", found.id, *at)
                yield Problem(what, where, "give each community its own id")
            seen.add(community.id)
            for language, forms in community.forms.items():
                for form, text in forms.items():
                    if not text.strip() or re.search(r"[{}]", text):
                        where = _at(reading, "communities", found.id, *at, "forms", language, form)
                        what = f"form `{form}` of community `{community.id}` is `{text}`"
                        yield Problem(what, where, "write its text, without braces")
                    elif text != " ".join(text.split()):
                        where = _at(reading, "communities", found.id, *at, "forms", language, form)
                        what = f"form `{form}` of community `{community.id}`, `{text}`, holds a blank too many"
                        yield Problem(what, where, "write one blank between its words, and none around them")


def _framings(reading: Reading) -> Iterator[Problem]:
    for language in reading.catalog.languages.values():
        for part in ("{prefix}", "{prompt}"):
            if part not in language.framing:
                where = _at(reading, "languages", language.id, "framing")
                yield Problem(f"the framing of `{language.id}` has no place for `{part}`", where, "add it")


def _requirements(reading: Reading) -> Iterator[Problem]:
    catalog = reading.catalog
    for file in catalog.requirements.values():
        for number, requirement in enumerate(file.requirements):
            at = ("requirements", number)
            named = f"requirement `{requirement.name}`"
            if requirement.concern.strip().lower() not in catalog.concern_names:
                where = _at(reading, "requirements", file.id, *at, "concern")
                remedy = nearest(requirement.concern, catalog.concern_names, catalog.concern_names)
                yield Problem(f"{named}: concern `{requirement.concern}` is unknown", where, remedy)
            named_set = requirement.communities
            if isinstance(named_set, str) and named_set not in catalog.communities:
                where = _at(reading, "requirements", file.id, *at, "communities")
                remedy = nearest(named_set, catalog.communities)
                yield Problem(f"{named}: community set `{named_set}` is unknown", where, remedy)


def _respondents(reading: Reading) -> Iterator[Problem]:
    names = reading.catalog.concern_names
    ids = set(names.values())
    for respondent in reading.catalog.respondents.values():
        for concern in respondent.concerns:
            if concern not in ids:
                where = _at(reading, "respondents", respondent.id, "concerns", concern)
                what = f"respondent `{respondent.id}` has a rate for the unknown concern `{concern}`"
                yield Problem(what, where, nearest(concern, names, names))


def _model_names(reading: Reading) -> Iterator[Problem]:
    models = reading.catalog.models
    owners = {model.lower(): model for model in models.models}
    for model, entry in models.models.items():
        provider = model.partition("/")[0]
        if provider not in models.providers:
            where = _at(reading, "models", model, "models", model)
            remedy = nearest(provider, models.providers)
            yield Problem(f"provider `{provider}` of model `{model}` is unknown", where, remedy)
        for number, alias in enumerate(entry.aliases):
            owner = owners.setdefault(alias.lower(), model)
            if owner != model:
                where = _at(reading, "models", model, "models", model, "aliases", number)
                what = f"model `{model}` is also called `{alias}`, as `{owner}` is"
                yield Problem(what, where, "keep it with one of them")
