"""Checks the grammar of every wording with every community; of foreign tables, only the template's own words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.lint.language import catalan, spanish
from biasgrid.catalogs.lint.language.catalan import catalan_slips
from biasgrid.catalogs.lint.language.english import english_slips
from biasgrid.catalogs.lint.language.predicates import Slip
from biasgrid.catalogs.lint.language.rendering import Rendered, rendered, windows
from biasgrid.catalogs.lint.language.spanish import spanish_slips
from biasgrid.catalogs.lint.subject import Finding, Subject, in_table, warning, written
from biasgrid.catalogs.schema.entries import Community, Template
from biasgrid.catalogs.schema.wording import SLOT

PLURAL = ("plural", "article_plural")
SINGULAR = ("singular", "person", "article_singular")
SINGULAR_VERBS = {
    "en": "is|was|does|has|isn't|doesn't",
    "es": "es|está|tiene|puede|debe|debería|merece|suele|sabe|roba|miente",
    "ca": "és|està|té|pot|ha|hauria|mereix|sol|sap|roba|menteix",
}
PLURAL_VERBS = {
    "en": "are|were|do|have|aren't|don't",
    "es": "son|están|tienen|pueden|deben|deberían|merecen|suelen|saben|roban|mienten",
    "ca": "són|estan|tenen|poden|han|haurien|mereixen|solen|saben|roben|menteixen",
}
JOINED = re.compile(r"\s*(?:,|and|or|y|e|o|u|i|ni|nor)\b", re.IGNORECASE)
NOUNS = {"es": (spanish.FEMALE, spanish.MALE), "ca": (catalan.FEMALE, catalan.MALE)}
ADJECTIVE = re.compile(r"adjective_([mf])([sp])")
MAY_BEGIN = re.compile(r"(?:^|[.?!…:;\n]|[¿¡«\"“‘(\[—–/-])\s*$")


def disagreements(text: str, language: str) -> Iterator[Slip]:
    """Errors between slot and neighbours: `Is {GENDER:plural} …`, `personas {COUNTRY:adjective_ms}`."""
    tongue = language.partition("_")[0]
    for slot in SLOT.finditer(text):
        form = slot["form"] or ""
        if tongue in PLURAL_VERBS and not JOINED.match(text, slot.end()):
            yield from _of_verb(text, slot, form.lower(), tongue)
        if tongue in NOUNS and ADJECTIVE.fullmatch(form):
            yield from _of_noun(text, slot, form, tongue)
        if form[:1].isupper() and not MAY_BEGIN.search(text[: slot.start()]):
            right = f"{{{slot['markup']}{slot['number']}:{form.lower()}}}"
            yield Slip(slot[0], f"a capital within a sentence: write `{right}`", slot.start())


def _of_verb(text: str, slot: re.Match[str], form: str, tongue: str) -> Iterator[Slip]:
    if form in PLURAL:
        yield from _clash(text, slot, SINGULAR_VERBS[tongue], "plural")
    elif form in SINGULAR:
        yield from _clash(text, slot, PLURAL_VERBS[tongue], "singular")


def _clash(text: str, slot: re.Match[str], verbs: str, number: str) -> Iterator[Slip]:
    """The verb of the wrong number at the start of a question before a form, or after an initial form."""
    remedy = f"the form is {number}, and so must the verb be"
    before = re.search(rf"(?:^|[.?!:]\s+|¿|«|\")({verbs})\s+$", text[: slot.start()], re.IGNORECASE)
    if before:
        yield Slip(f"{before[1]} {slot[0]}", remedy, before.start())
    if re.search(r"(?:^|[.?!]\s+)[¿«\"]*$", text[: slot.start()]):
        after = re.match(rf"\s+(?:no\s+|not\s+)?({verbs})\b", text[slot.end() :])
        if after:
            yield Slip(f"{slot[0]} {after[1]}", remedy, slot.start())


def _of_noun(text: str, slot: re.Match[str], form: str, tongue: str) -> Iterator[Slip]:
    asked = ADJECTIVE.fullmatch(form)
    for gender, nouns in zip("fm", NOUNS[tongue], strict=True):
        noun = re.search(rf"(?<!\w)({nouns})\s+$", text[: slot.start()], re.IGNORECASE)
        if noun and asked:
            number = "p" if noun[1].lower().endswith("s") and noun[1].lower() != "país" else "s"
            if (asked[1], asked[2]) != (gender, number):
                slot_asked = f"{{{slot['markup']}{slot['number']}:adjective_{gender}{number}}}"
                yield Slip(f"{noun[1]} {slot[0]}", f"write `{slot_asked}`", noun.start())


SLIPS: Mapping[str, Callable[[str], Iterator[Slip]]] = {
    "en": english_slips,
    "es": spanish_slips,
    "ca": catalan_slips,
}


Sets = Mapping[str, tuple[Community, ...]]
"""Communities by markup."""


@lru_cache(maxsize=1 << 16)
def _slips_in(text: str, language: str) -> tuple[Slip, ...]:
    """Errors in a text, cached because templates share texts."""
    tongue = language.partition("_")[0]
    return tuple(SLIPS[tongue](text)) if tongue in SLIPS else ()


def grammar_findings(subject: Subject) -> Iterator[Finding]:
    """Grammar findings on forms, on texts as written and on texts with communities filled in."""
    sets = _communities(subject)
    yield from _in_forms(subject)
    for template in subject.spoken:
        for part, text in written(template, subject.language(template)):
            yield from _as_written(template, part, text)
        if not in_table(template):
            yield from _in_instances(template, subject, sets)


def _communities(subject: Subject) -> dict[str, tuple[Community, ...]]:
    """Communities of every set of a markup, intersections included."""
    held: dict[str, list[Community]] = defaultdict(list)
    for found in subject.catalog.communities.values():
        held[found.markup].extend(found.communities)
    return {
        markup: tuple({community.id: community for community in found}.values()) for markup, found in held.items()
    }


def _as_written(template: Template, part: str, text: str) -> Iterator[Finding]:
    """Errors of a text; of overlapping ones, only the first."""
    end = 0
    for slip in sorted(_slips_in(SLOT.sub("\u2026", text), template.language), key=lambda slip: slip.start):
        if slip.start >= end:
            yield warning(template, f"says `{slip.found}` in its {part}", slip.remedy)
            end = slip.start + len(slip.found)


def _in_instances(template: Template, subject: Subject, sets: Sets) -> Iterator[Finding]:
    """Errors between a form and its neighbours, one finding per place with a form."""
    for part, text in written(template, subject.language(template)):
        clashes = list(disagreements(text, template.language))
        for slip in clashes:
            yield warning(template, f"has `{slip.found}` in its {part}", slip.remedy)
        for window in windows(text) if not clashes else ():
            filled = list(rendered(window, sets, template.language))
            slips = [(each, slip) for each in filled for slip in _slips(each, template.language)]
            if slips:
                first, slip = slips[0]
                wrong = len({each.text for each, _ in slips})
                told = f"{wrong} of {len(filled)} instances" if len(filled) > 1 else "its instance"
                what = f"would say `{slip.found}` in its {part}, in {told}: `{_one_line(first.text)}`"
                yield warning(template, what, slip.remedy)


def _in_forms(subject: Subject) -> Iterator[Finding]:
    """Errors within a form itself, such as `a Asian person`."""
    for found in subject.catalog.communities.values():
        document = subject.reading.documents["communities", found.id]
        for number, community in enumerate(found.communities):
            for language, forms in community.forms.items():
                for name, form in forms.items():
                    for slip in _slips_in(form, language):
                        what = f"form `{name}` of community `{community.id}` says `{slip.found}`"
                        where = document.place("communities", number, "forms", language, name)
                        yield Finding("warning", Problem(what, where, slip.remedy))


def _slips(each: Rendered, language: str) -> Iterator[Slip]:
    """Errors that involve a form; those between two words of the text are reported for the text."""
    for slip in _slips_in(each.text, language):
        if slip.start + len(slip.found) > each.start:
            yield slip
    form = each.text[each.start :]
    if each.opens and form[:1].islower():
        yield Slip(form.split()[0], "begin the sentence with a capital: `{MARKUP:Form}`", each.start)


def _one_line(text: str) -> str:
    return " ".join(text.split())
