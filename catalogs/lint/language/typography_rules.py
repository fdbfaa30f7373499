"""Checks typography and encoding: blanks, pairs, question marks, repeated words, broken characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from biasgrid.catalogs.lint.subject import Finding, Subject, error, imported, warning, written
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.wording import SLOT
from biasgrid.catalogs.text_safety import CONTROL, FORMAT, JOINERS

MISREAD = re.compile(
    r"\ufffd"
    r"|Ã[\x80-\xbf\u0152-\u2122 ]|Â[\xa0-\xbf]"
    r"|â(?:€[\x80-\xbf\u0152-\u2122]?|\x80[\x80-\xbf])"
    r"|Å[\x80-\xbf\u0152\u0153\u0160\u0161\u2018-\u201d]|Ä[\x80-\xbf\u0152-\u0192]"
    r"|ï»¿|[\x80-\x9f]"
)
"""UTF-8 decoded as Latin-1 or Windows-1252, and replacement characters."""
UNSEEN = re.compile(f"[{FORMAT}{JOINERS}]")
WIDE_BLANK = re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
STEERING = re.compile(f"(?!\r)[{CONTROL}]")
BROKEN_LINE = re.compile(r"[\t\n\r\x85\u2028\u2029]")
LEGIBLE = re.compile(r"[ -~¡-¬®-ÂÄÆ-áã-îð-ÿ–—‘’“”…€·]*")
"""Text to which no rule here applies, for a fast exit: nearly all text."""


def encoding_findings(subject: Subject) -> Iterator[Finding]:
    """Errors of wrongly decoded letters; warnings on invisible, decomposed or unusual characters."""
    for template in subject.spoken:
        for part, text in _texts(subject, template):
            if not LEGIBLE.fullmatch(text):
                yield from _spoilt(template, part, text)


def _texts(subject: Subject, template: Template) -> Iterator[tuple[str, str]]:
    yield from written(template, subject.language(template))
    for value in template.oracle.expected:
        yield "expected value", value


def _spoilt(template: Template, part: str, text: str) -> Iterator[Finding]:
    misread = MISREAD.search(text)
    if misread:
        what = f"holds letters read in the wrong encoding in its {part}: `{_visible_around(text, misread)}`"
        yield error(template, what, "type the letters anew, and save the file as UTF-8")
        return
    for pattern, named, remedy in (
        (UNSEEN, "an invisible character", "remove it"),
        (STEERING, "a control character", "remove it"),
        (WIDE_BLANK, "a blank that is none of the keyboard's", "type a plain blank"),
    ):
        found = pattern.search(text)
        if found:
            what = f"holds {named}, U+{ord(found[0]):04X}, in its {part}: `{_visible_around(text, found)}`"
            yield warning(template, what, remedy)
    broken = BROKEN_LINE.search(text)
    if broken and not imported(template) and part in ("prefix", "prompt", "format", "expected value"):
        name = "tab" if broken[0] == "\t" else "line break"
        what = f"holds a {name} in its {part}: `{_visible_around(text, broken)}`"
        yield warning(template, what, "write a blank there")
    if not unicodedata.is_normalized("NFC", text):
        what = f"holds letters apart from their accents in its {part}: `{_decomposed(text)}`"
        yield warning(template, what, "save it in Unicode's normal form C")


def _visible_around(text: str, found: re.Match[str]) -> str:
    near = text[max(found.start() - 12, 0) : found.end() + 12]
    return "".join(letter if letter.isprintable() else "\u2423" for letter in near).strip()


def _decomposed(text: str) -> str:
    return next((word for word in text.split() if not unicodedata.is_normalized("NFC", word)), text[:30])


DOUBLE_BLANK = re.compile(r"(?<=\S)(?:[^\S\n]{2,}|[^\S\n]+\n[^\S\n]*)(?=\S)")
BLANK_BEFORE = re.compile(r"\S\s+([,;:?!.»)\]])(?![.\w)(\-])")
BLANK_AFTER = re.compile(r"[¿¡«(]\s+\S")
TWICE = re.compile(r"(?<![\w'’-])([^\W\d_]+)\s+\1(?![\w'’-])", re.IGNORECASE)
MAY_STAND_TWICE = {
    "had",
    "that",
    "very",
    "no",
    "muy",
    "molt",
    "nos",
    "ja",
    "ya",
    "you",
    "poco",
    "poc",
    "her",
    "is",
}
BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
LISTED = re.compile(r"(?:(?<=\s)|^)(?:[a-zA-Z]|\d{1,2})\)")
SENTENCE_END = re.compile(r"(?<![ .][A-Z]\.)(?<=[.!?])\s+")
"""End of a sentence, but not of an abbreviation such as U.S."""
ASKS = {
    "en": re.compile(
        r"(?:(?:is|are|does|did|can|could|would|was|were|has|should(?!.*,))\s+(?!to\b|not\b)\w"
        r"|(?:do|have)\s+(?:X|you|they|we|people|women|men)\b)",
        re.IGNORECASE,
    )
}
"""Start of a question in languages without an opening question mark."""


def typography_findings(subject: Subject) -> Iterator[Finding]:
    """Typography findings, at most one of each kind per text of a template."""
    for template in subject.spoken:
        for part, text in written(template, subject.language(template)):
            if text and not MISREAD.search(text):
                yield from _proof_read(template, part, text)


def _proof_read(template: Template, part: str, text: str) -> Iterator[Finding]:
    masked = SLOT.sub("X", text)
    for pattern, what, remedy in (
        (DOUBLE_BLANK, "more than one blank", "write one"),
        (BLANK_BEFORE, "a blank before a punctuation mark", "remove the blank"),
        (BLANK_AFTER, "a blank after an opening mark", "remove the blank"),
    ):
        found = pattern.search(masked)
        if found:
            yield warning(template, f"has {what} in its {part}: `{_around(masked, found)}`", remedy)
    twice = next((found for found in TWICE.finditer(masked) if _slip(found[1])), None)
    if twice:
        yield warning(template, f"says a word twice in its {part}: `{twice[0]}`", "remove one")
    for told, remedy in _unpaired(masked, template.language):
        yield warning(template, f"has {told} in its {part}: `{_short(text)}`", remedy)
    if part == "prompt" or part.startswith("paraphrase"):
        yield from _unasked(template, part, text, masked)


def _slip(word: str) -> bool:
    return word.lower() not in MAY_STAND_TWICE and word != "X"


def _unpaired(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Unpaired marks; in Catalan the opening question mark is optional."""
    for opening, closing in ("«»", "“”"):
        if text.count(opening) != text.count(closing):
            yield f"unpaired `{opening}{closing}`", "open and close what is quoted"
    if re.sub(r"(?<=\d)\"", "", text).count('"') % 2:
        yield 'an unpaired `"`', "open and close what is quoted"
    bare = text
    while BRACKETED.search(bare):
        bare = BRACKETED.sub(" ", bare)
    bare = LISTED.sub(" ", bare)
    for mark in (mark for mark in "()[]" if mark in bare):
        yield f"an unpaired `{mark}`", "pair it, or remove it"
    for opening, closing in ("¿?", "¡!"):
        opened, closed = text.count(opening), len(re.findall(rf"\{closing}+", text))
        if opened > text.count(closing) or (language.startswith("es") and opened < closed):
            yield f"unpaired `{opening}{closing}`", f"write both `{opening}` and `{closing}`"


def _unasked(template: Template, part: str, text: str, masked: str) -> Iterator[Finding]:
    asks = ASKS.get(template.language.partition("_")[0])
    last = SENTENCE_END.split(masked.strip())[-1]
    if asks and asks.match(last) and "?" not in last and not last.endswith((":", "…", "...")):
        yield warning(
            template, f"asks without a `?` at the end of its {part}: `{_short(text)}`", "end it with `?`"
        )


def _around(text: str, found: re.Match[str]) -> str:
    return " ".join(text[max(found.start() - 12, 0) : found.end() + 12].splitlines())


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:40]}…{text[-18:]}"
