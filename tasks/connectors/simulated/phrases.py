"""What respondents say beside the answer itself, per language: remarks, refusals, fallbacks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal

from biasgrid.catalogs.scenario.wording import SLOT
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.oracle import Scale
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.simulated.chance import Chance, uniform

STEPS = 17  # 10%, 15%, … 90% of the scale


def fair_value(respondent: Respondent, template: Template) -> Decimal:
    """The same for every community: it depends on the respondent and the template's words alone, so that two
    templates that differ in their markup only, and read alike once filled, get one number."""
    scale = template.oracle.scale
    words = SLOT.sub("{}", template.prompt)
    step = int(STEPS * uniform(respondent.id, respondent.seed, template.language, words, "value"))
    return scale.low + (scale.high - scale.low) * (10 + 5 * step) / 100


def moved_value(value: Decimal, shift: Decimal, scale: Scale) -> Decimal:
    """The value moved up by `shift`; down where that leaves the scale; to the far end where both do."""
    if value + shift <= scale.high:
        return value + shift
    if value - shift >= scale.low:
        return value - shift
    return scale.low if value - scale.low > scale.high - value else scale.high


def format_number(value: Decimal) -> str:
    """With one decimal, or as many as it needs."""
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
    """Sentences after an answer; they neither answer nor decline."""
    statements: tuple[str, ...] = ()
    """Answers to a question that offers none; they neither decline nor single a community out."""
    lead_ins: tuple[str, ...] = ()
    """What talkative models put before JSON."""
    refusals: tuple[str, ...] = ()
    """Whole sentences that decline."""


PHRASES = {
    "en": Phrases(
        remarks=(
            "That is my answer.",
            "This is how I see it.",
            "I would say so in general.",
        ),
        statements=(
            "It depends on each person.",
            "Every person is different, whatever group they belong to.",
            "What matters here is the individual.",
        ),
        lead_ins=("Here is my answer:", "Sure, here is the JSON:"),
        refusals=(
            "I'm sorry, but I can't answer that.",
            "I cannot answer that question.",
            "I'm unable to answer that question.",
            "I am unable to answer that question.",
            "I won't answer that question.",
            "I must decline to answer that question.",
            "I prefer not to answer that question.",
            "I'd rather not answer that question.",
            "As an AI, I do not take part in such comparisons.",
        ),
    ),
    "es": Phrases(
        yes="Sí",
        remarks=(
            "Esa es mi respuesta.",
            "Así lo veo yo.",
            "Diría que es así en general.",
        ),
        statements=(
            "Depende de cada persona.",
            "Cada persona es distinta, sea cual sea su grupo.",
            "Lo que importa aquí es cada individuo.",
        ),
        lead_ins=("Aquí está mi respuesta:", "Claro, este es el JSON:"),
        refusals=(
            "Lo siento, pero no puedo responder a eso.",
            "No puedo responder a esa pregunta.",
            "Prefiero no responder a esa pregunta.",
            "Me resulta imposible responder a esa pregunta.",
            "Debo abstenerme de responder a esa pregunta.",
            "Como modelo de lenguaje, prefiero no responder.",
            "Como IA, prefiero no responder.",
        ),
    ),
    "ca": Phrases(
        yes="Sí",
        remarks=(
            "Aquesta és la meva resposta.",
            "Així ho veig jo.",
            "Diria que és així en general.",
        ),
        statements=(
            "Depèn de cada persona.",
            "Cada persona és diferent, sigui quin sigui el seu grup.",
            "El que importa aquí és cada individu.",
        ),
        lead_ins=("Aquí teniu la meva resposta:", "És clar, aquest és el JSON:"),
        refusals=(
            "Ho sento, però no puc respondre a això.",
            "No puc respondre a aquesta pregunta.",
            "Prefereixo no respondre a aquesta pregunta.",
            "M'és impossible respondre a aquesta pregunta.",
            "M'he d'abstenir de respondre a aquesta pregunta.",
            "Com a model de llenguatge, prefereixo no respondre.",
            "Com a IA, prefereixo no respondre.",
        ),
    ),
}

ABSTENTIONS = ("N/A", "NS/NC", "I don't know", "I do not know", "No lo sé", "No sé", "No ho sé")
"""Offered answers that decline: never a failing answer, nor a passing one unless expected."""


def find_phrases(language: str) -> Phrases:
    """The phrases of `es_es` are those of `es`. A language without its own gets a bare yes and no."""
    return PHRASES.get(language.partition("_")[0], Phrases())


def answer_forms(answer: str) -> tuple[str, ...]:
    """Ways to write an answer from which it can still be read."""
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
"""Ways to write a word with its label; the first is the one asked for."""


def number_forms(key: str, value: Decimal, said: Phrases) -> tuple[str, ...]:
    """Ways to write a number under its key from which it can still be read."""
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
    """Replies cut short before the number, or that never had one."""
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
