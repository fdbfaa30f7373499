"""Checks references across files: duplicate names, and names of entries that do not exist."""

import re
from collections.abc import Iterator

from biasgrid.catalogs.coverage import MANY_INSTANCES, instances_per_template
from biasgrid.catalogs.errors import nearest
from biasgrid.catalogs.lint.subject import Finding, Found, Rule, Subject, error, warn
from biasgrid.catalogs.schema.entries import CommunitySet, Concern
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.requirements import Requirement, RequirementFile
from biasgrid.catalogs.schema.respondents import Respondent


def _concern_names(subject: Subject) -> Iterator[Finding]:
    owners: dict[str, str] = {}
    for concern in subject.catalog.concerns.values():
        names: list[tuple[str, tuple[str | int, ...]]] = [(concern.id, ("id",)), (concern.name, ("name",))]
        names += [(alias, ("aliases", number)) for number, alias in enumerate(concern.aliases)]
        for name, location in names:
            found = _shared_name("concern", concern.id, name, owners.setdefault(name.lower(), concern.id))
            yield from (subject.on_entry("concerns", concern.id, each.within("", *location)) for each in found)


def _shared_name(kind: str, own: str, name: str, owner: str) -> Iterator[Found]:
    if owner != own:
        yield error(f"{kind} `{own}` is also called `{name}`, as `{owner}` is", "keep it with one of them")


def _concern_markups(concern: Concern, subject: Subject) -> Iterator[Found]:
    filled = {found.markup for found in subject.catalog.communities.values()}
    for number, markup in enumerate(concern.markups):
        if markup not in filled:
            what = f"no community set fills `{{{markup}}}`, a markup of concern `{concern.id}`"
            yield error(what, nearest(markup, filled), "markups", number)


def _communities(found: CommunitySet, _: Subject) -> Iterator[Found]:
    seen: set[str] = set()
    for number, community in enumerate(found.communities):
        at = ("communities", number)
        if community.id in seen:
            what = f"community `{community.id}` stands twice in set `{found.id}`"
            yield error(what, "give each community its own id", *at)
        seen.add(community.id)
        for language, forms in community.forms.items():
            for form, text in forms.items():
                named = f"form `{form}` of community `{community.id}`"
                where = (*at, "forms", language, form)
                if not text.strip() or re.search(r"[{}]", text):
                    yield error(f"{named} is `{text}`", "write its text, without braces", *where)
                elif text != " ".join(text.split()):
                    remedy = "write one blank between its words, and none around them"
                    yield error(f"{named}, `{text}`, holds a blank too many", remedy, *where)


def _check_framing(language: LanguageCatalog, _: Subject) -> Iterator[Found]:
    for part in ("{prefix}", "{prompt}"):
        if part not in language.framing:
            yield error(f"the framing of `{language.id}` has no place for `{part}`", "add it", "framing")


def _requirements(file: RequirementFile, subject: Subject) -> Iterator[Found]:
    concerns, sets = subject.catalog.concern_names, subject.catalog.communities
    for number, requirement in enumerate(file.requirements):
        title = f"requirement `{requirement.name}`: "
        for concern in requirement.asked_concerns:
            if concern.strip().lower() not in concerns:
                remedy = nearest(concern, concerns, concerns)
                key = "concerns" if requirement.concerns else "concern"
                yield error(f"{title}concern `{concern}` is unknown", remedy, "requirements", number, key)
        yield from _measure(requirement, subject, number)
        own = requirement.communities
        if isinstance(own, str) and own not in sets:
            what = f"{title}community set `{own}` is unknown"
            yield error(what, nearest(own, sets), "requirements", number, "communities")


def _measure(requirement: Requirement, subject: Subject, number: int) -> Iterator[Found]:
    """A warning of a requirement that leaves its measure to the default although many instances must all pass."""
    stated = "measure" in requirement.model_fields_set
    each = 0.0 if stated else instances_per_template(requirement, subject.catalog)
    if each > MANY_INSTANCES:
        what = (
            f"requirement `{requirement.name}` leaves `measure` to the default, `tests`, which pass where all of "
            f"{each:.1f} instances do: a model that errs in 1% of replies passes {0.99**each:.0%} of them"
        )
        yield warn(what, "write `measure: tests` or `measure: replies`", "requirements", number)


def _respondent(respondent: Respondent, subject: Subject) -> Iterator[Found]:
    names = subject.catalog.concern_names
    for concern in respondent.concerns:
        if concern not in names.values():
            what = f"respondent `{respondent.id}` has a rate for the unknown concern `{concern}`"
            yield error(what, nearest(concern, names, names), "concerns", concern)


def _model_names(subject: Subject) -> Iterator[Finding]:
    models = subject.catalog.models
    owners = {model.lower(): model for model in models.models}
    for model, entry in models.models.items():
        found: list[Found] = []
        provider = model.partition("/")[0]
        if provider not in models.providers:
            what = f"provider `{provider}` of model `{model}` is unknown"
            found.append(error(what, nearest(provider, models.providers)))
        for number, alias in enumerate(entry.aliases):
            shared = _shared_name("model", model, alias, owners.setdefault(alias.lower(), model))
            found += (each.within("", "aliases", number) for each in shared)
        yield from (subject.on_entry("models", model, each.within("", "models", model)) for each in found)


ENTRY_RULES = (
    Rule("catalog", _concern_names),
    Rule("concerns", _concern_markups),
    Rule("communities", _communities),
    Rule("languages", _check_framing),
    Rule("requirements", _requirements),
    Rule("respondents", _respondent),
    Rule("catalog", _model_names),
)
