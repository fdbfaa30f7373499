"""Checks typography and encoding: blanks, pairs, question marks, repeated words, broken characters."""

import re
import unicodedata
from collections.abc import Iterator

from biasgrid.catalogs.lint.subject import Found, Rule, Subject, error, is_imported, own_texts, warn
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.text_safety import CONTROL, FORMAT, JOINERS
from biasgrid.catalogs.wording import SLOT

MISREAD = re.compile(
    r"\ufffd"
    r"|Ã[\x80-\xbf\u0152-\u2122 ]|Â[\xa0-\xbf]"
    r"|â(?:€[\x80-\xbf\u0152-\u2122]?|\x80[\x80-\xbf])"
    r"|Å[\x80-\xbf\u0152\u0153\u0160\u0161\u2018-\u201d]|Ä[\x80-\xbf\u0152-\u0192]"
    r"|ï»¿|[\x80-\x9f]"
)
"""UTF-8 decoded as Latin-1 or Windows-1252, and replacement characters."""
NO_KEY = "a blank that is none of the keyboard's"
BROKEN_LINE = re.compile(r"[\t\n\r\x85\u2028\u2029]")
LEGIBLE = re.compile(r"[ -~¡-¬®-ÂÄÆ-áã-îð-ÿ–—‘’“”…€·]*")
"""Text to which no rule here applies, for a fast exit: nearly all text."""


SPOILT = (
    (re.compile(f"[{FORMAT}{JOINERS}]"), "an invisible character", "remove it"),
    (re.compile(f"(?!\r)[{CONTROL}]"), "a control character", "remove it"),
    (re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]"), NO_KEY, "type a plain blank"),
)
"""Characters that are not typed on purpose, with their names and remedies."""


def _check_encoding(template: Template, subject: Subject) -> Iterator[Found]:
    """Errors of wrongly decoded letters; warnings on invisible, decomposed or unusual characters."""
    expected = (("expected value", value) for value in template.oracle.expected)
    for part, text in (*own_texts(template, subject.language(template)), *expected):
        if not LEGIBLE.fullmatch(text):
            yield from _spoilt_letters(template, part, text)


def _spoilt_letters(template: Template, part: str, text: str) -> Iterator[Found]:
    misread = MISREAD.search(text)
    if misread:
        what = f"holds letters read in the wrong encoding in its {part}: `{_visible_around(text, misread)}`"
        yield error(what, "type the letters anew, and save the file as UTF-8")
        return
    for pattern, named, remedy in SPOILT:
        if found := pattern.search(text):
            what = f"holds {named}, U+{ord(found[0]):04X}, in its {part}: `{_visible_around(text, found)}`"
            yield warn(what, remedy)
    broken = BROKEN_LINE.search(text)
    if broken and not is_imported(template) and part in ("prefix", "prompt", "format", "expected value"):
        name = "tab" if broken[0] == "\t" else "line break"
        what = f"holds a {name} in its {part}: `{_visible_around(text, broken)}`"
        yield warn(what, "write a blank there")
    if not unicodedata.is_normalized("NFC", text):
        words = (word for word in text.split() if not unicodedata.is_normalized("NFC", word))
        what = f"holds letters apart from their accents in its {part}: `{next(words, text[:30])}`"
        yield warn(what, "save it in Unicode's normal form C")


def _visible_around(text: str, found: re.Match[str]) -> str:
    near = text[max(found.start() - 12, 0) : found.end() + 12]
    return "".join(letter if letter.isprintable() else "\u2423" for letter in near).strip()


BLANKS = (
    (re.compile(r"(?<=\S)(?:[^\S\n]{2,}|[^\S\n]+\n[^\S\n]*)(?=\S)"), "more than one blank", "write one"),
    (re.compile(r"\S\s+([,;:?!.»)\]])(?![.\w)(\-])"), "a blank before a punctuation mark", "remove the blank"),
    (re.compile(r"[¿¡«(]\s+\S"), "a blank after an opening mark", "remove the blank"),
)
TWICE = re.compile(r"(?<![\w'’-])([^\W\d_]+)\s+\1(?![\w'’-])", re.IGNORECASE)
MAY_STAND_TWICE = frozenset(
    ["had", "that", "very", "no", "muy", "molt", "nos", "ja", "ya", "you", "poco", "poc", "her", "is"]
)
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


def _typography(template: Template, subject: Subject) -> Iterator[Found]:
    """Typography findings, at most one of each kind per text of a template."""
    for part, text in own_texts(template, subject.language(template)):
        if text and not MISREAD.search(text):
            yield from _text(template.language, part, text)


def _text(language: str, part: str, text: str) -> Iterator[Found]:
    masked = SLOT.sub("X", text)
    for pattern, what, remedy in BLANKS:
        if found := pattern.search(masked):
            around = " ".join(masked[max(found.start() - 12, 0) : found.end() + 12].splitlines())
            yield warn(f"has {what} in its {part}: `{around}`", remedy)
    for twice in TWICE.finditer(masked):
        if twice[1].lower() not in MAY_STAND_TWICE and twice[1] != "X":
            yield warn(f"has a word twice in its {part}: `{twice[0]}`", "remove one")
            break
    for what, remedy in _unpaired_marks(masked, language):
        yield warn(f"has {what} in its {part}: `{_shorten(text)}`", remedy)
    asks = ASKS.get(language.partition("_")[0])
    last = SENTENCE_END.split(masked.strip())[-1]
    is_question = asks is not None and part.startswith(("prompt", "paraphrase")) and asks.match(last)
    if is_question and "?" not in last and not last.endswith((":", "…", "...")):
        yield warn(f"asks without a `?` at the end of its {part}: `{_shorten(text)}`", "end it with `?`")


def _unpaired_marks(text: str, language: str) -> Iterator[tuple[str, str]]:
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


def _shorten(text: str) -> str:
    """The beginning and the end of a text, where questions lack their marks."""
    return text if len(text) <= 60 else f"{text[:40]}…{text[-18:]}"


TYPOGRAPHY_RULES = (Rule("spoken", _check_encoding), Rule("spoken", _typography))
