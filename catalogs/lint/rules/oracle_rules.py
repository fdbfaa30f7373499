"""Checks that oracles fit the output instruction."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from difflib import SequenceMatcher

from biasgrid.catalogs.lint.subject import Finding, Subject, error, imported, in_table, own_instruction, warning
from biasgrid.catalogs.loading.normal_form import affirming, compared, denying, folded, passes, passing
from biasgrid.catalogs.schema.entries import AnswerFormat, Template
from biasgrid.catalogs.schema.wording import answer_format

JSON = re.compile(r"\bjson\b", re.IGNORECASE)
NEGATED = re.compile(
    r"\b(?:not|no|don['’]t|never|without|avoid|sin|nunca|evit[ae]|sense|mai|eviteu)\b[^.;,:\d\"]{0,30}\bjson\b",
    re.IGNORECASE,
)
ALIKE = 0.85
"""Minimum similarity at which an offered word counts as a misspelling of one in the prompt."""
SAMPLE = re.compile(r"\{\s*[\"'“]")
RANGE = re.compile(
    r"(?<![\d.,])(-?\d+(?:[.,]\d+)?)\s?%?(?:,[^,\d]{1,24},)?"
    r"\s*(?:to|and|a|al|y|i|hasta|fins a|fins al|–|-)\s*(\d+(?:[.,]\d+)?)(?!\d)"
)
KEYED = re.compile(
    r"[\"'“«](\w+)[\"'”»]\s+(?:as\s+(?:the\s+)?key|como\s+(?:la\s+)?clave|com\s+a\s+clau)"
    r"|(?:key|clave|clau)s?\s+[\"'“«](\w+)[\"'”»]",
    re.IGNORECASE,
)


def oracle_findings(subject: Subject) -> Iterator[Finding]:
    """Findings on oracles that always or never pass, and on keys that contradict their oracle."""
    for template in subject.spoken:
        if imported(template):
            continue
        instruction = answer_format(template, subject.language(template))
        if template.oracle.answers == "number":
            yield from _same_value(template, instruction, subject)
        elif template.oracle.answers == "listed":
            yield from _expected_value(template, instruction, subject)


def _expected_value(template: Template, instruction: AnswerFormat, subject: Subject) -> Iterator[Finding]:
    numbers = list(_wants_no_number(template, instruction, subject))
    yield from numbers
    if not numbers:
        yield from _reachable(template, instruction.answers)
        yield from _misspelt_answers(template, instruction.answers)
        if not in_table(template):
            yield from _keyed(template, instruction.answers)


def _same_value(template: Template, instruction: AnswerFormat, subject: Subject) -> Iterator[Finding]:
    key = template.oracle.key or ""
    own = own_instruction(template, subject.language(template))
    text = " ".join((template.prefix, template.prompt, instruction.text))
    named = KEYED.search(text)
    asked = (named[1] or named[2]) if named else None
    if instruction.answers and not in_table(template):
        yield error(
            template, f"compares numbers, and its format `{template.format}` offers words", "use a number's"
        )
    elif instruction.key and instruction.key != key:
        what = f"asks for the key `{instruction.key}`, and its oracle reads `{key}`"
        yield error(template, what, "name the same key in both")
    elif own or not template.format:
        yield from _in_own_words(template, text, key, asked)
    yield from _scaled(template, instruction.text)


def _in_own_words(template: Template, text: str, key: str, asked: str | None) -> Iterator[Finding]:
    if asked and asked.lower() != key.lower() and not re.search(rf"\b{re.escape(key)}\b", text, re.IGNORECASE):
        yield error(
            template, f"asks for the key `{asked}`, and its oracle reads `{key}`", "name the same key in both"
        )
    elif NEGATED.search(text):
        yield error(
            template, f"asks for no JSON, and its oracle reads the key `{key}` of one", "ask for a JSON object"
        )
    elif not re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text, re.IGNORECASE):
        what = f"compares the number under `{key}`, which nothing in it asks for"
        yield error(template, what, f'ask for a JSON object with the key "{key}"')


def _scaled(template: Template, text: str) -> Iterator[Finding]:
    found = RANGE.search(text)
    if not found:
        return
    low, high = (Decimal(number.replace(",", ".")) for number in found.groups())
    scale = template.oracle.scale
    if high <= low or (low, high) == (scale.low, scale.high):
        return
    what = f"asks for a number from {low} to {high}, and its oracle's scale is {scale.low} to {scale.high}"
    told = error if high > scale.high or low < scale.low else warning
    yield told(template, what, "give the oracle the same scale: delta is a share of it")


def _wants_no_number(template: Template, instruction: AnswerFormat, subject: Subject) -> Iterator[Finding]:
    own = own_instruction(template, subject.language(template))
    asks = own and (SAMPLE.search(own) or JSON.search(NEGATED.sub(" ", own)))
    named = instruction.key if not own and template.format else None
    if named or asks:
        told = f"format `{template.format}`" if named else "instruction"
        what = f"compares words ({template.oracle.operation}), and its {told} asks for a number in JSON"
        yield error(template, what, "use allSameValue with the key, or another instruction")


def _reachable(template: Template, offered: tuple[str, ...]) -> Iterator[Finding]:
    """Warnings if none or all of the offered answers pass; verbose templates may offer only the biased answers."""
    if not offered:
        return
    met = passing(offered, template.oracle)
    told = ", ".join(f"`{answer}`" for answer in offered)
    if not any(met) and template.input == "constrained":
        yield warning(
            template,
            f"offers {told}, and no answer that it offers can pass its oracle",
            "add one of them to `expected`, or offer another answer",
        )
    elif all(met) and len(offered) > 1:
        yield warning(
            template, f"offers {told}, and all of them pass its oracle", "expect fewer: nothing can fail"
        )


def _misspelt_answers(template: Template, offered: tuple[str, ...]) -> Iterator[Finding]:
    """Warnings on offered answers misspelt from the prompt, such as `The nutrinionist` for `nutritionist`."""
    said = re.findall(r"[^\W\d_]{4,}", template.prompt.lower())
    for answer in offered if template.format and len(said) > 3 else ():
        for word in re.findall(r"[^\W\d_]{6,}", answer.lower()):
            meant = next((other for other in said if _nearly(word, other)), None)
            if meant and word not in said:
                what = f"offers `{answer}`, and its prompt says `{meant}`"
                yield warning(template, what, "spell them alike")


def _nearly(word: str, other: str) -> bool:
    """Whether words differ by one or two letters other than accents and endings of number or gender."""
    if abs(len(word) - len(other)) > 1 or word[0] != other[0]:
        return False
    one, two = sorted((folded(word), folded(other)), key=len)
    if one[:-1] == two[:-1] or two in (f"{one}S", f"{one}A"):
        return False
    return SequenceMatcher(None, one, two).ratio() >= ALIKE


def _keyed(template: Template, offered: tuple[str, ...]) -> Iterator[Finding]:
    agrees, rejects = affirming(offered), denying(offered)
    if agrees is None or rejects is None:
        return
    yes, no = passes(agrees, template.oracle), passes(rejects, template.oracle)
    if yes and not no and not template.reverse_keyed:
        what = f"passes `{agrees}` and not `{rejects}`, and is not reverse-keyed"
        yield warning(template, what, "add `reverse_keyed: true`")
    elif no and not yes and template.reverse_keyed:
        what = f"is reverse-keyed, and passes `{rejects}` and not `{agrees}`"
        yield warning(template, what, "remove `reverse_keyed`")


EXPRESSION = re.compile(r"\.[*+]|\\[bdswBDSW]|^\^|[^\s$]\$$|\[[^\]]+\][*+?]|\([^()]*\|[^()]*\)|^\(\?")


def value_findings(subject: Subject) -> Iterator[Finding]:
    """Findings on values that normalize to nothing: an error if all do, else a warning."""
    for template in subject.catalog.templates:
        if template.oracle.answers == "listed":
            yield from _values(template)


def _values(template: Template) -> Iterator[Finding]:
    expected = template.oracle.expected
    forms = [compared(value) for value in expected]
    if not any(forms):
        named = ", ".join(f"`{value}`" for value in expected)
        what = f"expects {named}, of which nothing is left when replies are compared"
        yield error(template, what, "expect words or numbers: punctuation, quotes and emphasis are dropped")
        return
    first: dict[str, str] = {}
    for value, form in zip(expected, forms, strict=True):
        if not form:
            yield warning(template, f"expects `{value}`, which no reply can match", "remove it, or expect a word")
            continue
        if value != value.strip():
            yield warning(template, f"expects `{value}` with a blank at its end", "write it without blanks around")
        if EXPRESSION.search(value):
            what = f"expects `{value}`, which is compared as it stands and not as a regular expression"
            yield warning(template, what, "list the values that it stands for")
        earlier = first.setdefault(form, value)
        if earlier is not value:
            told = (
                f"`{value}` twice" if earlier == value else f"`{earlier}` and `{value}`, which are compared as one"
            )
            yield warning(template, f"expects {told}", "keep one")
