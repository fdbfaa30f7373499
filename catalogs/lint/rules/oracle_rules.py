"""Checks that oracles fit the output instruction."""

import re
from collections.abc import Iterator
from decimal import Decimal
from difflib import SequenceMatcher

from biasgrid.catalogs.lint.subject import (
    Found,
    Rule,
    Subject,
    error,
    in_table,
    is_imported,
    own_instruction,
    warn,
)
from biasgrid.catalogs.loading.normal_form import compared, folded, offered_yes_no, passes
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.languages import AnswerFormat
from biasgrid.catalogs.wording import answer_format

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


def _oracle(template: Template, subject: Subject) -> Iterator[Found]:
    """Findings on oracles that always or never pass, and on keys that contradict their oracle."""
    if is_imported(template):
        return
    instruction = answer_format(template, subject.language(template))
    own = own_instruction(template, subject.language(template))
    if template.oracle.answers == "number":
        yield from _same_value(template, instruction, own)
        yield from _scale(template, instruction.text)
    elif template.oracle.answers == "listed":
        numbers = list(_asks_for_number(template, instruction, own))
        yield from numbers
        if not numbers:
            yield from _reachable(template, instruction.answers)
            yield from _misspelt_answers(template, instruction.answers)
            if not in_table(template):
                yield from _reverse_key(template, instruction.answers)


def _same_value(template: Template, instruction: AnswerFormat, own: str) -> Iterator[Found]:
    key = template.oracle.key or ""
    if instruction.answers and not in_table(template):
        what = f"compares numbers, and its format `{template.format}` offers words"
        yield error(what, "use a number's")
    elif instruction.key and instruction.key != key:
        what = f"asks for the key `{instruction.key}`, and its oracle reads `{key}`"
        yield error(what, "name the same key in both")
    elif own or not template.format:
        yield from _own_words(" ".join((template.prefix, template.prompt, instruction.text)), key)


def _own_words(text: str, key: str) -> Iterator[Found]:
    named = KEYED.search(text)
    asked = (named[1] or named[2]) if named else None
    if asked and asked.lower() != key.lower() and not re.search(rf"\b{re.escape(key)}\b", text, re.IGNORECASE):
        yield error(f"asks for the key `{asked}`, and its oracle reads `{key}`", "name the same key in both")
    elif NEGATED.search(text):
        yield error(f"asks for no JSON, and its oracle reads the key `{key}` of one", "ask for a JSON object")
    elif not re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text, re.IGNORECASE):
        what = f"compares the number under `{key}`, which nothing in it asks for"
        yield error(what, f'ask for a JSON object with the key "{key}"')


def _scale(template: Template, text: str) -> Iterator[Found]:
    found = RANGE.search(text)
    if not found:
        return
    low, high = (Decimal(number.replace(",", ".")) for number in found.groups())
    scale = template.oracle.scale
    if low < high and (low, high) != (scale.low, scale.high):
        what = f"asks for a number from {low} to {high}, and its oracle's scale is {scale.low} to {scale.high}"
        severity = error if high > scale.high or low < scale.low else warn
        yield severity(what, "give the oracle the same scale: delta is a share of it")


def _asks_for_number(template: Template, instruction: AnswerFormat, own: str) -> Iterator[Found]:
    asks = own and (SAMPLE.search(own) or JSON.search(NEGATED.sub(" ", own)))
    named = instruction.key if not own and template.format else None
    if named or asks:
        source = f"format `{template.format}`" if named else "instruction"
        what = f"compares words ({template.oracle.operation}), and its {source} asks for a number in JSON"
        yield error(what, "use allSameValue with the key, or another instruction")


def _reachable(template: Template, offered: tuple[str, ...]) -> Iterator[Found]:
    """Warnings if none or all of the offered answers pass; verbose templates may offer only the biased answers."""
    if not offered:
        return
    met = [passes(answer, template.oracle) for answer in offered]
    what = f"offers {', '.join(f'`{answer}`' for answer in offered)}, and"
    if not any(met) and template.input == "constrained":
        remedy = "add one of them to `expected`, or offer another answer"
        yield warn(f"{what} no answer that it offers can pass its oracle", remedy)
    elif all(met) and len(offered) > 1:
        yield warn(f"{what} all of them pass its oracle", "expect fewer: nothing can fail")


def _misspelt_answers(template: Template, offered: tuple[str, ...]) -> Iterator[Found]:
    """Warnings on offered answers misspelt from the prompt, such as `The nutrinionist` for `nutritionist`."""
    asked = re.findall(r"[^\W\d_]{4,}", template.prompt.lower())
    for answer in offered if template.format and len(asked) > 3 else ():
        for word in re.findall(r"[^\W\d_]{6,}", answer.lower()):
            meant = next((other for other in asked if _is_nearly(word, other)), None)
            if meant and word not in asked:
                yield warn(f"offers `{answer}`, and its prompt has `{meant}`", "spell them alike")


def _is_nearly(word: str, other: str) -> bool:
    """Whether words differ by one or two letters other than accents and endings of number or gender."""
    if abs(len(word) - len(other)) > 1 or word[0] != other[0]:
        return False
    one, two = sorted((folded(word), folded(other)), key=len)
    if one[:-1] == two[:-1] or two in (f"{one}S", f"{one}A"):
        return False
    return SequenceMatcher(None, one, two).ratio() >= ALIKE


def _reverse_key(template: Template, offered: tuple[str, ...]) -> Iterator[Found]:
    agrees, rejects = offered_yes_no(offered)
    if agrees is None or rejects is None:
        return
    yes, no = passes(agrees, template.oracle), passes(rejects, template.oracle)
    if yes and not no and not template.reverse_keyed:
        what = f"passes `{agrees}` and not `{rejects}`, and is not reverse-keyed"
        yield warn(what, "add `reverse_keyed: true`")
    elif no and not yes and template.reverse_keyed:
        yield warn(f"is reverse-keyed, and passes `{rejects}` and not `{agrees}`", "remove `reverse_keyed`")


EXPRESSION = re.compile(r"\.[*+]|\\[bdswBDSW]|^\^|[^\s$]\$$|\[[^\]]+\][*+?]|\([^()]*\|[^()]*\)|^\(\?")


def _values(template: Template, _: Subject) -> Iterator[Found]:
    """Findings on values that normalize to nothing: an error if all do, else a warning."""
    if template.oracle.answers != "listed":
        return
    expected = template.oracle.expected
    forms = [compared(value) for value in expected]
    if not any(forms):
        named = ", ".join(f"`{value}`" for value in expected)
        what = f"expects {named}, and nothing is left of it when replies are compared"
        yield error(what, "expect words or numbers: punctuation, quotes and emphasis are dropped")
        return
    first: dict[str, str] = {}
    for value, form in zip(expected, forms, strict=True):
        if not form:
            yield warn(f"expects `{value}`, which no reply can match", "remove it, or expect a word")
            continue
        if value != value.strip():
            yield warn(f"expects `{value}` with a blank at its end", "write it without blanks around")
        if EXPRESSION.search(value):
            what = f"expects `{value}`, which is compared as it stands and not as a regular expression"
            yield warn(what, "list the values that it stands for")
        earlier = first.setdefault(form, value)
        if earlier == value and earlier is not value:
            yield warn(f"expects `{value}` twice", "keep one")
        elif earlier is not value:
            yield warn(f"expects `{earlier}` and `{value}`, which are compared as one", "keep one")


ORACLE_RULES = (Rule("spoken", _oracle), Rule("templates", _values))
