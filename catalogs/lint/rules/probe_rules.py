"""Checks probes: small groups, shared names, indistinguishable attributes, and pairs without a wording."""

import re
from collections.abc import Iterator
from itertools import product

from biasgrid.catalogs.errors import nearest
from biasgrid.catalogs.lint.people_names import alike, inseparable, plain, words_in
from biasgrid.catalogs.lint.subject import Found, Rule, Subject, error, warn
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.schema.probes import AttributePair, ProbeAxis, ProbeWording

LEAST_NAMES = 20
"""Minimum number of names of a group per language; fewer are repeated too often."""


def _axis(axis: ProbeAxis, subject: Subject) -> Iterator[Found]:
    yield from unknown_concern(axis.id, axis.concern, subject)
    yield from _group_names(axis)
    for number, pair in enumerate(axis.pairs):
        yield from (found.within(f"pair `{pair.id}`", "pairs", number) for found in _pair(axis, pair, subject))


def unknown_concern(axis: str, concern: str, subject: Subject) -> Iterator[Found]:
    """An error if the concern of an axis does not exist."""
    if concern not in subject.catalog.concerns:
        names = subject.catalog.concern_names
        yield error(f"axis `{axis}`: concern `{concern}` is unknown", nearest(concern, names, names), "concern")


def _group_names(axis: ProbeAxis) -> Iterator[Found]:
    """Findings on few names, and on names that belong to two groups or contain one another."""
    seen: dict[str, dict[str, str]] = {}
    for number, group in enumerate(axis.groups):
        for language, words in group.words.items():
            at = ("groups", number, "words", language, "names")
            if len(words.names) < LEAST_NAMES:
                what = f"group `{group.id}` has {len(words.names)} names in `{language}`, fewer than {LEAST_NAMES}"
                yield warn(what, "add names that are typical of it", *at)
            others = seen.setdefault(language, {})
            for which, name in enumerate(words.names):
                for what, remedy in alike(name, group.id, others):
                    yield error(f"{what} in `{language}`", remedy, *at, which)
                others[plain(name)] = group.id


def _pair(axis: ProbeAxis, pair: AttributePair, subject: Subject) -> Iterator[Found]:
    groups = [axis.group(name).words for name in (pair.favoured, pair.stigmatised)]
    spoken = groups[0].keys() & groups[1].keys()
    for language in sorted(spoken - pair.attributes.keys()):
        what = f" has no attributes in `{language}`, which its groups have: it is not asked there"
        yield warn(what, "add two, in the words of that language", "attributes")
    for language in sorted(pair.attributes.keys() - spoken):
        what = f" has attributes in `{language}`, where one of its groups has no words"
        yield warn(what, "add the group's words there", "attributes", language)
    for language in pair.attributes:
        yield from _ambiguous(axis, pair, language)
        yield from _without_question(pair, language, subject)


def _ambiguous(axis: ProbeAxis, pair: AttributePair, language: str) -> Iterator[Found]:
    """Errors of attributes that contain each other or a name, so that replies are ambiguous."""
    first, second = pair.attributes[language]
    if inseparable(first, second):
        what = f": of `{first}` and `{second}` one holds the other, so no reply is read for sure"
        yield error(what, "choose words that differ from their beginning on", "attributes", language)
    for attribute, group in product((first, second), (pair.favoured, pair.stigmatised)):
        words = axis.group(group).words.get(language)
        for name in words_in(attribute, words.names if words else ()):
            what = f": attribute `{attribute}` holds `{name}`, a name of group `{group}`"
            yield error(what, "replace the name", "attributes", language)


def _without_question(pair: AttributePair, language: str, subject: Subject) -> Iterator[Found]:
    wording = subject.catalog.probing.get(language)
    if wording is None:
        what = f" cannot be asked in `{language}`: catalogs/probing has no questions in it"
        yield error(what, f"write probing/{language}.yaml", "attributes", language)
    elif not wording.implicit.get(pair.kind):
        what = f" is of kind `{pair.kind}`, for which probing/{language}.yaml has no wording"
        yield error(what, nearest(pair.kind, wording.implicit), "kind")


PLACE = re.compile(r"\{\s*(\w+)\s*\}")
"""Anything that looks like a placeholder; not the braces of a JSON object in an instruction."""
IMPLICIT = frozenset({"people", "first", "second"})
STATEMENT = frozenset({"favoured", "stigmatised", "positive", "negative"})
AGREEMENT = frozenset({"statement", "scale"})
DECISION = frozenset({"first", "second", "positive", "negative"})
COUNTERFACTUAL = frozenset({"person"})
SCORE = '"score"'
"""The key of a counterfactual's number in the reply."""

Question = tuple[Location, str, frozenset[str]]
"""Location of a text in its file, the text, and the placeholders it needs."""


def _questions(wording: ProbeWording, _: Subject) -> Iterator[Found]:
    for at, text, places in _texts(wording):
        title = f"`{wording.id}`, {at[0]} {at[1]}: " if len(at) > 1 else f"`{wording.id}`, {at[0]}: "
        yield from (found.within(title, *at) for found in check_places(text, places))
    for number, counterfactual in enumerate(wording.counterfactuals):
        if SCORE not in counterfactual.prompt:
            what = f"`{wording.id}`, counterfactual `{counterfactual.id}` does not ask for {SCORE}"
            yield error(what, 'ask for a JSON object, `{"score": n}`', "counterfactuals", number, "prompt")


def _texts(wording: ProbeWording) -> Iterator[Question]:
    for kind, forms in wording.implicit.items():
        yield from ((("implicit", kind, number), form, IMPLICIT) for number, form in enumerate(forms))
    for statement, texts in wording.statements.items():
        yield from ((("statements", statement, number), text, STATEMENT) for number, text in enumerate(texts))
    yield ("agreement",), wording.agreement, AGREEMENT
    for number, decision in enumerate(wording.decisions):
        yield ("decisions", number, "prompt"), decision.prompt, DECISION
    for number, counterfactual in enumerate(wording.counterfactuals):
        yield ("counterfactuals", number, "prompt"), counterfactual.prompt, COUNTERFACTUAL
    if wording.loader is not None:
        yield from ((("loader", name), text, places) for name, text, places in wording.loader.texts())


def check_places(text: str, places: frozenset[str]) -> Iterator[Found]:
    """Errors of a text's placeholders."""
    found = {place[0]: place[1] for place in PLACE.finditer(text)}
    for written, name in found.items():
        if written[1:-1] not in places:
            yield error(f"unknown place `{written}`", nearest(name, {*places}))
    for name in sorted(places - {written[1:-1] for written in found}):
        yield error(f"no place for `{{{name}}}`", "add it")


PROBE_RULES = (Rule("probes", _axis), Rule("probing", _questions))
