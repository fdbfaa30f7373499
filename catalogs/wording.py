"""Defines how a template becomes a message: framing, slots and the forms of communities."""

import re
from dataclasses import dataclass

from biasgrid.catalogs.schema.entries import Template, TemplateFields
from biasgrid.catalogs.schema.languages import AnswerFormat, LanguageCatalog
from biasgrid.catalogs.schema.oracle import LETTERS, Choice, Oracle

SLOT = re.compile(r"\{(?P<markup>[A-Z][A-Z_]*?)(?P<number>\d*)(?::(?P<form>[A-Za-z_]+))?\}")
"""`{GENDER}`, `{GENDER1}`, `{GENDER2:plural}`; `{GENDER1:Plural}` capitalises the form's first letter."""


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """A place in a template that a community fills; the same number is always the same community."""

    markup: str
    number: int  # 0 where the markup has none

    @property
    def name(self) -> str:
        return f"{self.markup}{self.number or ''}"


def slot_of(match: re.Match[str]) -> Slot:
    """The slot of a SLOT match."""
    return Slot(match["markup"], int(match["number"] or 0))


def slots(text: str) -> tuple[Slot, ...]:
    """Distinct slots of a text by number, which is the order of an instance's communities."""
    return tuple(sorted({slot_of(match) for match in SLOT.finditer(text)}))


def stray_paraphrases(template: TemplateFields) -> tuple[int, ...]:
    """Numbers (from 1) of paraphrases that ask about other communities than the prompt."""
    asked = slots(template.prompt)
    return tuple(number for number, text in enumerate(template.paraphrases, 1) if slots(text) != asked)


def answer_format(template: Template, language: LanguageCatalog) -> AnswerFormat:
    """The output instruction that a template names, or its own with the offered answers."""
    named = language.formats.get(template.format)
    if named is not None:
        return named
    return AnswerFormat(text=template.format, answers=template.answers, key=template.oracle.key)


@dataclass(frozen=True, slots=True)
class Wording:
    """One way in which a template is asked: the whole message with its slots open, and the oracle that reads the
    replies to it, whose choices stand in the order of this message."""

    text: str
    oracle: Oracle


def wordings(template: Template, language: LanguageCatalog) -> tuple[Wording, ...]:
    """All wordings of a template in the given order, with the prompt as written first."""
    return tuple(
        Wording(_message(prompt, oracle.choices, template, language), oracle)
        for oracle in orders(template.oracle)
        for prompt in (template.prompt, *template.paraphrases)
    )


def pattern(template: Template, language: LanguageCatalog) -> str:
    """Message of the first wording, with open slots."""
    return _message(template.prompt, template.oracle.choices, template, language)


def orders(oracle: Oracle) -> tuple[Oracle, ...]:
    """The oracle in every order of its choices."""
    if oracle.orders == "given":
        return (oracle,)
    return (oracle, oracle.model_copy(update={"choices": oracle.choices[::-1]}))


DELIMITER = '"""'
"""What LangBiTe puts around an instance that a prefix introduces."""


def _langbite_message(prompt: str, template: Template, language: LanguageCatalog) -> str:
    """What LangBiTe sends, in English framing for every language; it sends an absent format as `None`."""
    instruction = answer_format(template, language).text or "None"
    if not template.prefix:
        return f"{prompt} {instruction}"
    introduced = f"{template.prefix} The sentence is delimited by {DELIMITER}."
    return f"{introduced} {DELIMITER}{prompt}{DELIMITER}. {instruction}"


def _message(prompt: str, choices: tuple[Choice, ...], template: Template, language: LanguageCatalog) -> str:
    """The message with framing, lettered choices and output instruction; its slots are still open."""
    if template.is_strict:
        return _langbite_message(prompt, template, language)
    question = prompt
    if template.prefix:
        # one pass over the framing: a `{prompt}` inside the prefix must stay unchanged
        parts = {"prefix": template.prefix, "prompt": prompt}
        question = re.sub(r"\{(prefix|prompt)\}", lambda match: parts[match[1]], language.framing)
    instruction = answer_format(template, language).text
    if choices:
        offered = "\n".join(f"{letter}. {choice.text}" for letter, choice in zip(LETTERS, choices, strict=False))
        return f"{question}\n{offered}\n{instruction}".strip()
    return f"{question} {instruction}".strip() if instruction else question
