"""Pairings in text: line by line, with headings over people, and people over what they are given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from biasgrid.tasks.evaluate.readers.claims import Claim, Said
from biasgrid.tasks.evaluate.readers.mentions import Tokens, Vocabulary
from biasgrid.tasks.evaluate.readers.pairings.sentences import read_sentence, sentences, units_of
from biasgrid.tasks.evaluate.readers.pairings.tables import cells_of, read_table
from biasgrid.tasks.evaluate.readers.pairings.words import (
    DISCLAIMS,
    EPITHET,
    FINAL,
    FINAL_WORDS,
    LABELS,
    LINKS,
    MARKS,
    NOBODY,
    UNPLACED,
)

_LEAD: Final = re.compile(r"^[\W_]*(?:\(?(?:\d{1,3}|[a-zA-Z])[.):\]](?=\s)[\W_]*)?")
_LONGEST_HEADING: Final = 15
_LONGEST_ALONE: Final = 400
_LONGEST_LINE: Final = 4_000
_INVENTED: Final = re.compile(
    r"([A-Z][a-z'-]+(?: [A-Z][a-z'-]+){0,2})(?:\s*[-:=→|(]+|\s+(?:is|as|es|com?o?)\b)\s*"
    r"(?:(?:the|an?|el|la|un|una)\s+)?([\w -]{2,60}?)\W*\Z"
)
_NO_PERSON: Final = re.compile(
    r"(?i)(?:the |el |la )?(?:note|answer|final|result|rest|others?|all|both|everyone|he|she|they|it|this|that"
    r"|nota|ella?|todos|tots|role|job|resposta|respuesta|person|name|choice|option|assignment|profession|group|women|men|category)\b"
)


@dataclass(slots=True)
class _Line:
    kind: Literal["people", "attribute", "nobody"]
    values: tuple[str, ...]
    is_heading: bool = False
    """Ends with a colon or begins with #."""


@dataclass(slots=True)
class _Reader:
    vocabulary: Vocabulary
    declines: bool
    said: Said = field(default_factory=lambda: Said([], []))
    rows: list[list[str]] = field(default_factory=list)
    block: list[_Line] = field(default_factory=list)
    """Lines that hold nothing but people or an attribute, since the last that separates."""

    def read(self, text: str) -> Said:
        for line in text.split("\n"):
            if line.strip():
                self._line(line[:_LONGEST_LINE])
        self._end_table()
        self._end_block()
        return self.said

    def _line(self, line: str) -> None:
        cells = cells_of(line)
        if cells is not None:
            self._end_block()
            self.rows += [cells] if cells else []
            return
        self._end_table()
        lowered = line.casefold()
        if any(word in lowered for word in FINAL_WORDS) and FINAL.search(line):
            self._end_block()
            self.said.final = len(self.said.claims)
        bare = _LEAD.sub("", line)
        if not self._claims(bare):
            self._alone(line[:_LONGEST_ALONE], bare[:_LONGEST_ALONE])

    def _claims(self, bare: str) -> int:
        before = len(self.said.claims)
        for sentence in sentences(self._in_commas(self._without_epithets(bare))):
            self.said.claims += read_sentence(sentence, self.vocabulary, self.declines)
            self.said.invented += self._invented(sentence)
        claims = self.said.claims[before:]
        heading = next((line for line in reversed(self.block) if line.kind == "attribute"), None)
        if heading and {claim.attribute for claim in claims} - set(heading.values):
            self._end_block()
        return len(claims)

    def _without_epithets(self, bare: str) -> str:
        """People by their names alone, where what follows a name mentions nothing that was asked."""

        def shortened(found: re.Match[str]) -> str:
            told = found.group()
            return told if self.vocabulary.mentions(Tokens.of(told)) else ""

        return EPITHET.sub(shortened, bare) if self.vocabulary.may_give(bare) else bare

    def _in_commas(self, bare: str) -> str:
        """`Doctor: James; Emily` is one list; `James: doctor; Emily: nurse` is two sentences."""
        first, *rest = bare.split(";")
        one_list = rest and self.vocabulary.may_give(first) and not any(map(self._gives, rest))
        return bare.replace(";", ",") if one_list else bare

    def _gives(self, text: str) -> bool:
        return any(mention.kind == "attribute" for mention in self.vocabulary.mentions(Tokens.of(text)))

    def _alone(self, line: str, bare: str) -> None:
        """A line that ties nobody to anything by itself."""
        label = LABELS.match(bare)
        rest = EPITHET.sub("", bare[label.end() :] if label else bare)
        tokens = Tokens.of(rest)
        units = units_of(tokens, self.vocabulary)
        marked = bare.rstrip().endswith(":") or line.lstrip().startswith("#")
        if not units:
            self._unmentioned(bare, marked)
        elif units[0].kind == "people":
            starts = units[0].start == 0 and not units[0].is_open and units[0].whom == "each"
            if starts and _only_named(tokens.words[units[0].end :]):
                self.block.append(_Line("people", tuple(units[0].values), marked))
        elif len(units) > 1 or len(units[0].values) > 1:
            self._end_block()
        elif _only_small(tokens, units[0].start, units[0].end) or (marked and _heads(tokens)):
            self.block.append(_Line("attribute", tuple(units[0].values), marked))

    def _unmentioned(self, bare: str, marked: bool) -> None:
        if NOBODY.match(bare):
            self.block.append(_Line("nobody", ()))
        elif marked:
            self._end_block()

    def _invented(self, sentence: str) -> list[str]:
        found = _INVENTED.match(sentence) if self.vocabulary.may_give(sentence) else None
        if (
            not found
            or DISCLAIMS.match(sentence)
            or _NO_PERSON.match(found[1])
            or self.vocabulary.attribute_in(found[2]) is None
        ):
            return []
        known = Tokens.of(found[1])
        return [] if self.vocabulary.mentions(known) else [found[1]]

    def _end_table(self) -> None:
        rows, self.rows = self.rows, []
        read = list(read_table(rows, self.vocabulary))
        for row in rows if not read else ():
            told = self._without_epithets(" - ".join(row))
            read += read_sentence(told, self.vocabulary, self.declines)
        self.said.claims += read

    def _end_block(self) -> None:
        block, self.block = self.block, []
        self.said.claims += _of_block(block)


def read_text(text: str, vocabulary: Vocabulary, declines: bool) -> Said:
    """The claims of a text without markup; `declines`: whether it also refuses."""
    return _Reader(vocabulary, declines).read(text)


def _only_named(after: list[str]) -> bool:
    """Whether a line that begins with people says no more than who they are."""
    return not after or (after[0] in MARKS and not any(word in UNPLACED for word in after[:6]))


def _only_small(tokens: Tokens, start: int, end: int) -> bool:
    others = tokens.words[:start] + tokens.words[end:]
    return len(others) <= _LONGEST_HEADING and all(
        word in LINKS or word in MARKS or word.isdigit() for word in others
    )


def _heads(tokens: Tokens) -> bool:
    return len(tokens.words) <= _LONGEST_HEADING and not any(word in UNPLACED for word in tokens.words)


def _of_block(block: list[_Line]) -> list[Claim]:
    lines = _merged(block)
    if not lines:
        return []
    if lines[0].kind == "people":
        return _over_attributes(lines) or _under_headings(_after_the_list(lines))
    return _under_headings(lines)


def _merged(block: list[_Line]) -> list[_Line]:
    """An attribute that is said twice in a row is said once."""
    lines: list[_Line] = []
    for line in block:
        if not (lines and line.kind == "attribute" and lines[-1].values == line.values):
            lines.append(line)
    return lines


def _over_attributes(lines: list[_Line]) -> list[Claim]:
    """`James`, below it `Doctor`, and so on to the end."""
    people, given = lines[::2], lines[1::2]
    strict = all(line.kind == "people" and len(line.values) == 1 for line in people) and all(
        line.kind == "attribute" and not line.is_heading for line in given
    )
    if not strict or len(people) != len(given):
        return []
    return [Claim(one.values[0], who.values) for who, one in zip(people, given, strict=True)]


def _after_the_list(lines: list[_Line]) -> list[_Line]:
    """Without the people with whom it begins, where each comes again below."""
    first = next((place for place, line in enumerate(lines) if line.kind == "attribute"), len(lines))
    listed = {name for line in lines[:first] for name in line.values}
    again = {name for line in lines[first:] if line.kind == "people" for name in line.values}
    return lines[first:] if listed <= again else []


def _under_headings(lines: list[_Line]) -> list[Claim]:
    """`Doctor`, below it people. Headings with nothing between them are a list of the attributes."""
    claims: list[Claim] = []
    heading: _Line | None = None
    before: _Line | None = None
    for line in lines:
        if line.kind == "attribute":
            heading = None if before and before.kind == "attribute" else line
        elif line.kind == "people" and heading:
            claims.append(Claim(heading.values[0], line.values))
        before = line
    return claims
