"""Checks probes: small groups, shared names, indistinguishable attributes, and pairs without a wording."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import product

from biasgrid.catalogs.errors import Problem, nearest
from biasgrid.catalogs.lint.subject import Finding, Severity, Subject
from biasgrid.catalogs.loading.documents import Document
from biasgrid.catalogs.loading.pydantic_errors import Location
from biasgrid.catalogs.schema.probes import AttributePair, ProbeAxis, ProbeWording

LEAST_NAMES = 20
"""Minimum number of names of a group per language; fewer are repeated too often."""
WORD = re.compile(r"\w+")


def probe_findings(subject: Subject) -> Iterator[Finding]:
    """All findings on the axes of bias probes; `probing_findings` checks their questions."""
    catalog = subject.catalog
    for axis in catalog.probes.values():
        document = subject.reading.documents["probes", axis.id]
        if axis.concern not in catalog.concerns:
            what = f"axis `{axis.id}`: concern `{axis.concern}` is unknown"
            remedy = nearest(axis.concern, catalog.concern_names, catalog.concern_names)
            yield _finding("error", document, what, remedy, "concern")
        yield from _few_names(axis, document)
        yield from _shared_names(axis, document)
        for number, pair in enumerate(axis.pairs):
            yield from _unspoken(axis, pair, document, ("pairs", number, "attributes"))
            for language in pair.attributes:
                yield from _unreadable(axis, pair, language, document, ("pairs", number, "attributes", language))
                yield from _unasked(subject, pair, language, document, ("pairs", number, "kind"))


def _finding(severity: Severity, document: Document, what: str, remedy: str, *at: str | int) -> Finding:
    return Finding(severity, Problem(what, document.place(*at), remedy))


def _few_names(axis: ProbeAxis, document: Document) -> Iterator[Finding]:
    for number, group in enumerate(axis.groups):
        for language, words in group.words.items():
            if len(words.names) < LEAST_NAMES:
                what = f"group `{group.id}` has {len(words.names)} names in `{language}`, fewer than {LEAST_NAMES}"
                at = ("groups", number, "words", language, "names")
                yield _finding("warning", document, what, "add names that are typical of it", *at)


def _shared_names(axis: ProbeAxis, document: Document) -> Iterator[Finding]:
    """Errors of names that belong to two groups or contain one another."""
    seen: dict[str, dict[str, str]] = {}
    for number, group in enumerate(axis.groups):
        for language, words in group.words.items():
            others = seen.setdefault(language, {})
            for which, name in enumerate(words.names):
                for what, remedy in alike(name, group.id, others):
                    at = ("groups", number, "words", language, "names", which)
                    yield _finding("error", document, f"{what} in `{language}`", remedy, *at)
                others[plain(name)] = group.id


def alike(name: str, group: str, others: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Conflicts of a name with `others` (names of the axis so far, with their groups), each with its remedy."""
    spelled = plain(name)
    if spelled in others:
        yield (
            f"name `{name}` of group `{group}` is one of group `{others[spelled]}`, too",
            "keep it with one of them",
        )
    for other, owner in others.items():
        if spelled != other and (spelled in other or other in spelled):
            what = f"name `{name}` of group `{group}` and `{other.strip()}` of `{owner}` hold one another"
            yield what, "replace one of them"


def _unspoken(axis: ProbeAxis, pair: AttributePair, document: Document, at: Location) -> Iterator[Finding]:
    """Warnings on languages that both groups have but the pair lacks, or the reverse."""
    groups = [axis.group(name).words for name in (pair.favoured, pair.stigmatised)]
    spoken = groups[0].keys() & groups[1].keys()
    for language in sorted(spoken - pair.attributes.keys()):
        what = f"pair `{pair.id}` has no attributes in `{language}`, which its groups have: it is not asked there"
        yield _finding("warning", document, what, "add two, in the words of that language", *at)
    for language in sorted(pair.attributes.keys() - spoken):
        what = f"pair `{pair.id}` has attributes in `{language}`, where one of its groups has no words"
        yield _finding("warning", document, what, "add the group's words there", *at, language)


def _unreadable(
    axis: ProbeAxis, pair: AttributePair, language: str, document: Document, at: Location
) -> Iterator[Finding]:
    """Errors of attributes that contain each other or a name, so that replies are ambiguous."""
    first, second = pair.attributes[language]
    if inseparable(first, second):
        what = f"pair `{pair.id}`: of `{first}` and `{second}` one holds the other, so no reply is read for sure"
        yield _finding("error", document, what, "choose words that differ from their beginning on", *at)
    for attribute, group in product((first, second), (pair.favoured, pair.stigmatised)):
        words = axis.group(group).words.get(language)
        for name in held(attribute, words.names if words else ()):
            what = f"pair `{pair.id}`: attribute `{attribute}` holds `{name}`, a name of group `{group}`"
            yield _finding("error", document, what, "replace the name", *at)


def inseparable(first: str, second: str) -> bool:
    """Whether one of two attributes contains the other."""
    return plain(first).strip() in plain(second) or plain(second).strip() in plain(first)


def held(text: str, words: Iterable[str]) -> Iterator[str]:
    """The words that occur in a text."""
    return (word for word in words if plain(word) in plain(text))


def _unasked(
    subject: Subject, pair: AttributePair, language: str, document: Document, at: Location
) -> Iterator[Finding]:
    wording = subject.catalog.probing.get(language)
    if wording is None:
        what = f"pair `{pair.id}` cannot be asked in `{language}`: catalogs/probing has no questions in it"
        yield _finding("error", document, what, f"write probing/{language}.yaml", *at[:-1], "attributes", language)
    elif not wording.implicit.get(pair.kind):
        what = f"pair `{pair.id}` is of kind `{pair.kind}`, for which probing/{language}.yaml has no wording"
        yield _finding("error", document, what, nearest(pair.kind, wording.implicit), *at)


@lru_cache(maxsize=1 << 16)
def plain(text: str) -> str:
    """The words of a text, separated by blanks, without case and accents, which replies may omit."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return f" {' '.join(WORD.findall(bare))} "


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


def probing_findings(subject: Subject) -> Iterator[Finding]:
    """All findings on probe questions, by language."""
    for wording in subject.catalog.probing.values():
        document = subject.reading.documents["probing", wording.id]
        for at, text, places in _questions(wording):
            for what, remedy in misplaced(text, places):
                where = f"{at[0]} {at[1]}" if len(at) > 1 else str(at[0])
                yield Finding("error", Problem(f"`{wording.id}`, {where}: {what}", document.place(*at), remedy))
        for number, counterfactual in enumerate(wording.counterfactuals):
            if SCORE not in counterfactual.prompt:
                what = f"`{wording.id}`, counterfactual `{counterfactual.id}` does not ask for {SCORE}"
                where = document.place("counterfactuals", number, "prompt")
                yield Finding("error", Problem(what, where, 'ask for a JSON object, `{"score": n}`'))


def _questions(wording: ProbeWording) -> Iterator[Question]:
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


def misplaced(text: str, places: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Errors of a text's placeholders, each with its remedy."""
    found = {place[0]: place[1] for place in PLACE.finditer(text)}
    for written, name in found.items():
        if written[1:-1] not in places:
            yield f"unknown place `{written}`", nearest(name, {*places})
    for name in sorted(places - {written[1:-1] for written in found}):
        yield f"no place for `{{{name}}}`", "add it"
