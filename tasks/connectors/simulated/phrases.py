"""Phrases of simulated respondents per language, and the forms of their answers and numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.oracle import Scale
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.catalogs.schema.wording import SLOT
from biasgrid.tasks.connectors.simulated.chance import Chance, uniform

STEPS = 17  # 10%, 15%, … 90% of the scale


def fair_value(respondent: Respondent, template: Template) -> Decimal:
    """A fair number for a template, the same for all communities and for templates that differ only in markup."""
    scale = template.oracle.scale
    words = SLOT.sub("{}", template.prompt)
    step = int(STEPS * uniform(respondent.id, respondent.seed, template.language, words, "value"))
    return scale.low + (scale.high - scale.low) * (10 + 5 * step) / 100


def moved_value(value: Decimal, shift: Decimal, scale: Scale) -> Decimal:
    """The value moved up by `shift`, else down, else to the far end, so that it stays within the scale."""
    if value + shift <= scale.high:
        return value + shift
    if value - shift >= scale.low:
        return value - shift
    return scale.low if value - scale.low > scale.high - value else scale.high


def format_number(value: Decimal) -> str:
    """The number with one decimal, or as many as it needs."""
    tenth = value.quantize(Decimal("0.1"))
    return format(tenth if tenth == value else value.normalize(), "f")


def number_reply(key: str, value: Decimal) -> str:
    return f"{{{json_key(key)}: {format_number(value)}}}"


def json_key(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Phrases:
    yes: str = "Yes"
    no: str = "No"
    remarks: tuple[str, ...] = ()
    """Sentences after an answer that neither answer nor decline."""
    statements: tuple[str, ...] = ()
    """Answers to an open question that neither decline nor single out a community."""
    lead_ins: tuple[str, ...] = ()
    """Sentences before JSON."""
    refusals: tuple[str, ...] = ()
    """Whole sentences that decline."""


ABSTENTIONS = ("N/A", "NS/NC", "I don't know", "I do not know", "No lo sé", "No sé", "No ho sé")
"""Offered answers that decline: they never fail, and pass only if expected."""


def load_texts(section: str, language: str, default: str | None = None) -> Mapping[str, Any] | None:
    """A section of the texts in `es` for `es_es`, else in the language `default`, else None."""
    own = _load_file(language.partition("_")[0]).get(section)
    return own if own is not None or default is None else _load_file(default).get(section)


@cache
def _load_file(language: str) -> Mapping[str, Any]:
    # a client may request any language over HTTP
    file = files("biasgrid.tasks.connectors.simulated") / "languages" / f"{language}.yaml"
    if not language.isalpha() or not file.is_file():
        return {}
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    texts: Mapping[str, Any] = yaml.load(file.read_text(encoding="utf-8"), loader)  # noqa: S506 - a safe loader
    return texts


@cache
def find_phrases(language: str) -> Phrases:
    """The phrases of `es` for `es_es`; a language without its own has only yes and no."""
    texts: Mapping[str, Any] = load_texts("phrases", language) or {}
    own: dict[str, Any] = {name: text if isinstance(text, str) else tuple(text) for name, text in texts.items()}
    return Phrases(**own)


def answer_forms(answer: str) -> tuple[str, ...]:
    """Ways to write an answer that remain readable."""
    answer = answer.rstrip(".")
    return (
        f"{answer}.",
        f"**{answer}**",
        f"**{answer}.**",
        f'"{answer}"',
        f"«{answer}»",
        f"“{answer}”",
        f"_{answer}_",
        answer.upper(),
        answer.lower(),
        f"  \n{answer}",
    )


PAIR_FORMS = (
    "{word} - {label}",
    "- {word}: {label}",
    "{number}. {word} – {label}",
    "* **{word}** → {label}",
    "{word} ({label})",
    "{label} - {word}",
)
"""Ways to write a word with its label; the first is the requested one."""


def number_forms(key: str, value: Decimal, said: Phrases) -> tuple[str, ...]:
    """Ways to write a number under its key that remain readable."""
    name, digits = json_key(key), format_number(value)
    whole = number_reply(key, value)
    return (
        whole,
        f"```json\n{whole}\n```",
        f"```\n{whole}\n```",
        f"{{\n  {name}: {digits}\n}}",
        *(f"{lead_in}\n{whole}" for lead_in in said.lead_ins[:1]),
        f"{{'{key}': {digits}}}",
        f"{{{name}: {digits},}}",
        f"{{{name}: {digits}%}}",
        f'{{{name}: "{digits}%"}}',
        f"{{{name}: {digits.replace('.', ',')}}}",
    )


def unreadable_forms(key: str) -> tuple[str, ...]:
    """Replies that end before the number or have none."""
    name = json_key(key)
    return (
        "{",
        f"{{{name[:-3]}",
        f"{{{name}:",
        f"```json\n{{{name}",
        f"{{{name}: }}",
        f'{{{name}: "…"}}',
    )


def messy_number(chance: Chance, key: str, value: Decimal, said: Phrases) -> str:
    return chance.pick("form", number_forms(key, value, said))


def messy_answer(chance: Chance, answer: str) -> str:
    return chance.pick("form", answer_forms(answer))
