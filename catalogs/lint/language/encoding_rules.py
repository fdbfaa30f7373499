"""Text that an editor or a conversion spoilt: letters read in the wrong encoding, marks that nobody sees."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from biasgrid.catalogs.lint.findings import Finding, error, warning
from biasgrid.catalogs.lint.subject import Subject, imported, written
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.text_safety import CONTROL, FORMAT, JOINERS

MISREAD = re.compile(
    r"\ufffd"
    r"|Ã[\x80-\xbf\u0152-\u2122 ]|Â[\xa0-\xbf]"
    r"|â(?:€[\x80-\xbf\u0152-\u2122]?|\x80[\x80-\xbf])"
    r"|Å[\x80-\xbf\u0152\u0153\u0160\u0161\u2018-\u201d]|Ä[\x80-\xbf\u0152-\u0192]"
    r"|ï»¿|[\x80-\x9f]"
)
"""UTF-8 read as Latin-1 or Windows-1252, and what could not be read at all."""
UNSEEN = re.compile(f"[{FORMAT}{JOINERS}]")
WIDE_BLANK = re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
STEERING = re.compile(f"(?!\r)[{CONTROL}]")
BROKEN_LINE = re.compile(r"[\t\n\r\x85\u2028\u2029]")
LEGIBLE = re.compile(r"[ -~¡-¬®-ÂÄÆ-áã-îð-ÿ–—‘’“”…€·]*")
"""Text that no rule of this module can speak of: nearly all of it."""


def encoding_findings(subject: Subject) -> Iterator[Finding]:
    """Misread letters are errors; what is only unseen, decomposed or unusual is a warning."""
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
        what = f"holds letters read in the wrong encoding in its {part}: `{_around(text, misread)}`"
        yield error(template, what, "type the letters anew, and save the file as UTF-8")
        return
    for pattern, named, remedy in (
        (UNSEEN, "an invisible character", "remove it"),
        (STEERING, "a control character", "remove it"),
        (WIDE_BLANK, "a blank that is none of the keyboard's", "type a plain blank"),
    ):
        found = pattern.search(text)
        if found:
            what = f"holds {named}, U+{ord(found[0]):04X}, in its {part}: `{_around(text, found)}`"
            yield warning(template, what, remedy)
    broken = BROKEN_LINE.search(text)
    if broken and not imported(template) and part in ("prefix", "prompt", "format", "expected value"):
        name = "tab" if broken[0] == "\t" else "line break"
        yield warning(template, f"holds a {name} in its {part}: `{_around(text, broken)}`", "write a blank there")
    if not unicodedata.is_normalized("NFC", text):
        what = f"holds letters apart from their accents in its {part}: `{_decomposed(text)}`"
        yield warning(template, what, "save it in Unicode's normal form C")


def _around(text: str, found: re.Match[str]) -> str:
    near = text[max(found.start() - 12, 0) : found.end() + 12]
    return "".join(letter if letter.isprintable() else "\u2423" for letter in near).strip()


def _decomposed(text: str) -> str:
    return next((word for word in text.split() if not unicodedata.is_normalized("NFC", word)), text[:30])
