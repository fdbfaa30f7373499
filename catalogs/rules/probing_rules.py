"""The questions of probes: places that are missing or unknown would reach a model as they stand, or ask
nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from catalogs.explanations import Location
from catalogs.findings import Finding
from catalogs.mistakes import Mistake, nearest
from catalogs.probes import ProbeWording
from catalogs.rules.subject import Subject

PLACE = re.compile(r"\{\s*(\w+)\s*\}")
"""Anything that looks like a place; the braces of a JSON object in an instruction do not."""
IMPLICIT = frozenset({"people", "first", "second"})
STATEMENT = frozenset({"favoured", "stigmatised", "positive", "negative"})
AGREEMENT = frozenset({"statement", "scale"})
DECISION = frozenset({"first", "second", "positive", "negative"})
COUNTERFACTUAL = frozenset({"person"})
SCORE = '"score"'
"""The key that the number of a counterfactual is read from."""

Question = tuple[Location, str, frozenset[str]]
"""Where a text stands in its file, the text, and the places that it needs."""


def probing_findings(subject: Subject) -> Iterator[Finding]:
    """Every finding on the questions, language by language."""
    for wording in subject.catalog.probing.values():
        document = subject.reading.documents["probing", wording.id]
        for at, text, places in _questions(wording):
            for what, remedy in misplaced(text, places):
                where = f"{at[0]} {at[1]}" if len(at) > 1 else str(at[0])
                yield Finding("error", Mistake(f"`{wording.id}`, {where}: {what}", document.place(*at), remedy))
        for number, counterfactual in enumerate(wording.counterfactuals):
            if SCORE not in counterfactual.prompt:
                what = f"`{wording.id}`, counterfactual `{counterfactual.id}` does not ask for {SCORE}"
                where = document.place("counterfactuals", number, "prompt")
                yield Finding("error", Mistake(what, where, 'ask for a JSON object, `{"score": n}`'))


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
    """What is wrong with the places of a text, and what to do about it."""
    found = {place[0]: place[1] for place in PLACE.finditer(text)}
    for written, name in found.items():
        if written[1:-1] not in places:
            yield f"unknown place `{written}`", nearest(name, {*places})
    for name in sorted(places - {written[1:-1] for written in found}):
        yield f"no place for `{{{name}}}`", "add it"
