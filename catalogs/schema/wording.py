"""How a template becomes the text that is sent: framing, slots and the forms of communities."""

from __future__ import annotations

import re
from dataclasses import dataclass

from biasgrid.catalogs.schema.entries import AnswerFormat, LanguageCatalog, Template, TemplateFields
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
    """The slot that a match of SLOT stands for."""
    return Slot(match["markup"], int(match["number"] or 0))


def slots(text: str) -> tuple[Slot, ...]:
    """The distinct slots of a text, in their order by number: the order of an instance's communities."""
    return tuple(sorted({slot_of(match) for match in SLOT.finditer(text)}))


def strayed(template: TemplateFields) -> tuple[int, ...]:
    """Which paraphrases, counted from 1, do not ask about the same communities as the prompt."""
    asked = slots(template.prompt)
    return tuple(number for number, text in enumerate(template.paraphrases, 1) if slots(text) != asked)


def answer_format(template: Template, language: LanguageCatalog) -> AnswerFormat:
    """The output instruction a template names, or its own sentence with the answers it offers."""
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
    """Every way in which a template is asked; the first is the prompt as written, in the order as given."""
    return tuple(
        Wording(_message(prompt, oracle.choices, template, language), oracle)
        for oracle in orders(template.oracle)
        for prompt in (template.prompt, *template.paraphrases)
    )


def pattern(template: Template, language: LanguageCatalog) -> str:
    """The first wording's message, its slots still open."""
    return _message(template.prompt, template.oracle.choices, template, language)


def orders(oracle: Oracle) -> tuple[Oracle, ...]:
    """The oracle in every order in which its choices are offered."""
    if oracle.orders == "given":
        return (oracle,)
    return (oracle, oracle.model_copy(update={"choices": oracle.choices[::-1]}))


def _message(prompt: str, choices: tuple[Choice, ...], template: Template, language: LanguageCatalog) -> str:
    """Framed prompt, lettered choices and output instruction; filling its slots gives what is sent."""
    question = prompt
    if template.prefix:
        # one pass over the framing: a `{prompt}` inside the prefix must stay what it is
        parts = {"prefix": template.prefix, "prompt": prompt}
        question = re.sub(r"\{(prefix|prompt)\}", lambda match: parts[match[1]], language.framing)
    instruction = answer_format(template, language).text
    if choices:
        offered = "\n".join(f"{letter}. {choice.text}" for letter, choice in zip(LETTERS, choices, strict=False))
        return f"{question}\n{offered}\n{instruction}".strip()
    return f"{question} {instruction}".strip() if instruction else question
