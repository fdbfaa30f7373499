"""Finds placeholders and format names that nothing replaces, so that a model would receive them."""

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from biasgrid.catalogs.errors import close_names, nearest
from biasgrid.catalogs.lint.subject import Found, Rule, Subject, error, warn
from biasgrid.catalogs.loading.normal_form import CLOSE, exactly, folded, roughly
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.wording import SLOT, slots

NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


def is_misspelt(template: Template, language: LanguageCatalog) -> bool:
    """Whether a template's format is neither a sentence nor a format of its language."""
    named, known = template.format, language.formats
    return named not in known and bool(NAME.fullmatch(named)) and ("_" in named or bool(close_names(named, known)))


BRACES = re.compile(r"\{[^{}]*\}|[{}]")
PAIRED = re.compile(r"\{[^{}]*\}")
JSON_OBJECT = re.compile(r"\{\s*[\"'“]")
"""Start of a JSON object: instructions may contain a sample reply, whose braces are text."""
WRITTEN = re.compile(r"^\{?\s*(?P<name>[^\W\d][^\d:{}]*?)_?\s*(?P<number>\d*)\s*(?P<form>:\s*[A-Za-z_]+)?\s*\}?$")
WRAPPED = re.compile(
    r"(?P<open>[{\[(<%$«]{1,4})\s?(?P<name>[^\W\d_]\w{0,40}?)(?P<number>\d{0,3})(?P<form>:\w{1,40})?"
    r"\s?(?P<close>[}\])>%$»]{1,4})"
)
WORD = re.compile(r"(?<![\w{])(?:[A-ZÀ-Ý][A-ZÀ-Ý_]+\d*|[^\W\d_][^\W\d]*\d+)(?![\w}])")
"""A word in capitals, or one that ends in a number."""
SENTENCE_END = re.compile(r"[.!?¿¡\n]")


@dataclass(frozen=True, slots=True)
class LooseMarkup:
    """A placeholder that would be sent unreplaced; `text` is its spelling."""

    text: str
    reason: str
    """Its kind: an unknown markup, an open brace, or a markup without braces."""
    remedy: str
    markup: str | None = None
    """Its name, if it is well-formed but unknown."""


def loose_markups(
    template: Template, known: Collection[str], others: Collection[str] = ()
) -> Iterator[LooseMarkup]:
    """Misspelt, malformed or bare placeholders; `known` are the requirement's markups, `others` all others.

    An imported benchmark's item has none: whatever looks like one is its text."""
    if template.facets:
        return
    offered = (choice.text for choice in template.oracle.choices)
    for text in (template.prefix, template.prompt, *template.paraphrases, *offered, template.format):
        if text:
            yield from _in_text(text, frozenset(known), frozenset(others) - frozenset(known))


def _in_text(text: str, known: frozenset[str], others: frozenset[str]) -> Iterator[LooseMarkup]:
    wrapped = list(_in_wrong_brackets(text, known | others))
    for match, loose in wrapped:
        text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
        yield loose
    yield from _in_braces(text, known, others)
    outside = PAIRED.sub(lambda match: " " * len(match[0]), text)
    for match in WORD.finditer(outside):
        yield from _without_braces(outside, match, known, others)


def _in_wrong_brackets(text: str, markups: frozenset[str]) -> Iterator[tuple[re.Match[str], LooseMarkup]]:
    for match in WRAPPED.finditer(text):
        if re.search(r"(?<!\{)\{$", match["open"]) and re.match(r"\}(?!\})", match["close"]):
            continue  # a slot, perhaps between quotes or in parentheses
        named = exactly(match["name"], markups)
        meant_so = match["name"].isupper() or bool(re.search(r"[{}\[\]<%$]", match["open"] + match["close"]))
        if named and meant_so:
            remedy = f"write `{{{named}{match['number']}{match['form'] or ''}}}`"
            yield match, LooseMarkup(match[0], "a markup in wrong brackets,", remedy)


def _in_braces(text: str, known: frozenset[str], others: frozenset[str]) -> Iterator[LooseMarkup]:
    holds_json = JSON_OBJECT.search(text) is not None
    for match in BRACES.finditer(text):
        found = SLOT.fullmatch(match[0])
        if found is not None and found["markup"] in known:
            continue
        if len(match[0]) == 1:
            if not holds_json or _touches_a_word(text, match.start()):
                around = text[max(match.start() - 15, 0) : match.start() + 16].strip()
                yield LooseMarkup(around, "an unpaired brace in", "pair it, or remove it")
        elif not JSON_OBJECT.match(match[0]):
            name = found["markup"] if found is not None else None
            yield LooseMarkup(match[0], "the unknown markup", _intended_markup(match[0], known, others), name)


def _without_braces(
    text: str, match: re.Match[str], known: frozenset[str], others: frozenset[str]
) -> Iterator[LooseMarkup]:
    """Markups without braces, such as `COUNTRY`; skips sentences in capitals and plain words of other concerns."""
    word = match[0]
    name = word.rstrip("0123456789")
    number = word[len(name) :]
    if not (name.isupper() or number):
        return
    compound = bool(number) or "_" in name
    meant = exactly(name, known | others if compound else known)
    if meant is None and number and name.isupper():
        meant = _nearest_markup(name, known | others)
    if meant and (compound or not _is_in_capitals(text, match)):
        yield LooseMarkup(word, "a markup without braces,", f"write `{{{meant}{number}}}`")


def _nearest_markup(name: str, known: frozenset[str]) -> str | None:
    close = difflib.get_close_matches(folded(name), sorted(known), n=1, cutoff=CLOSE)
    return close[0] if close and len(name) > 3 else None


def _is_in_capitals(text: str, match: re.Match[str]) -> bool:
    """Whether the other words of the sentence are in capitals too."""
    before = SENTENCE_END.split(text[: match.start()])[-1]
    after = SENTENCE_END.split(text[match.end() :])[0]
    words = re.findall(r"[^\W\d_]{2,}", f"{before} {after}")
    return bool(words) and all(word.isupper() for word in words)


def _intended_markup(written: str, known: frozenset[str], others: frozenset[str]) -> str:
    """The intended markup, with the number and form as written."""
    parts = WRITTEN.match(written)
    named = roughly(parts["name"], known) if parts else None
    if parts and named:
        return f"did you mean `{{{named}{parts['number']}{(parts['form'] or '').replace(' ', '')}}}`?"
    listed = nearest(written, [f"{{{markup}}}" for markup in known]) or "name it as `markup` in the requirement"
    other = exactly(parts["name"], others) if parts else None
    return f"`{{{other}}}` is of another concern; {listed}" if other else listed


def _touches_a_word(text: str, position: int) -> bool:
    if text[position] == "{":
        return re.match(r"\{\s*\w", text[position:]) is not None
    return position > 0 and text[position - 1].isalnum()


def _markups(template: Template, subject: Subject) -> Iterator[Found]:
    """Findings on placeholders: an error if one would reach a model, a warn if a number is missing."""
    every = frozenset(found.markup for found in subject.catalog.communities.values())
    loose = list(loose_markups(template, subject.markups.markups_of(template), every))
    for each in loose:
        yield error(f"holds {each.reason} `{each.text}`", each.remedy)
    if not loose and "{" in template.prompt:
        yield from _numbers(template)


def _numbers(template: Template) -> Iterator[Found]:
    numbers: dict[str, set[int]] = defaultdict(set)
    for slot in slots(f"{template.prefix} {template.prompt} {template.format}"):
        numbers[slot.markup].add(slot.number)
    for markup, found in numbers.items():
        if 0 in found and len(found) > 1:
            named = " and ".join(f"`{{{markup}{number or ''}}}`" for number in sorted(found))
            yield warn(f"mixes {named}, which are different communities", "number all of them, or none")
        missing = sorted(set(range(1, max(found))) - found)
        if missing:
            named = ", ".join(f"`{{{markup}{number}}}`" for number in missing)
            what = f"holds `{{{markup}{max(found)}}}` and no {named}"
            yield warn(what, "number the markups from 1, none left out")


MARKUP_RULE = Rule("templates", _markups)
