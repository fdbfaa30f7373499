"""What simulated respondents write: phrases per language, forms of answers, answers by outcome of an oracle."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import LETTERS, Oracle, Scale
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.catalogs.wording import SLOT, answer_format
from biasgrid.tasks.connectors.simulated.fault_injection import uniform

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
    undecided: tuple[str, ...] = ()
    """Answers that choose none of the options of a question."""
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
    texts: Mapping[str, Any] = load_yaml(file.read_text(encoding="utf-8"))
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


def number_forms(key: str, value: Decimal, phrases: Phrases) -> tuple[str, ...]:
    """Ways to write a number under its key that remain readable."""
    name, digits = json_key(key), format_number(value)
    whole = number_reply(key, value)
    return (
        whole,
        f"```json\n{whole}\n```",
        f"```\n{whole}\n```",
        f"{{\n  {name}: {digits}\n}}",
        *(f"{lead_in}\n{whole}" for lead_in in phrases.lead_ins[:1]),
        f"{{'{key}': {digits}}}",
        f"{{{name}: {digits},}}",
        f"{{{name}: {digits}%}}",
        f'{{{name}: "{digits}%"}}',
        f"{{{name}: {digits.replace('.', ',')}}}",
    )


def unreadable_forms(key: str) -> tuple[str, ...]:
    """Replies that end before the number or have none."""
    name = json_key(key)
    return ("{", f"{{{name[:-3]}", f"{{{name}:", f"```json\n{{{name}", f"{{{name}: }}", f'{{{name}: "…"}}')


QUOTED = re.compile(r'"([^"\n]{1,60})"|«([^»\n]{1,60})»|“([^”\n]{1,60})”')


@dataclass(frozen=True, slots=True)
class Repertoire:
    """Answers by outcome, never empty except for numbers and word lists."""

    passing: tuple[str, ...]
    failing: tuple[str, ...]
    refusing: tuple[str, ...]
    remarks: tuple[str, ...]
    """Sentences that may follow an answer without changing its outcome."""

    @classmethod
    def of(cls, template: Template, language: LanguageCatalog) -> Repertoire:
        phrases, oracle = find_phrases(template.language), template.oracle
        if oracle.choices:
            texts = tuple(choice.text for choice in oracle.choices)
            refusing = _find_refusals(phrases, oracle.model_copy(update={"expected": texts}), language)
            return cls(*answer_letters(oracle), refusing, ())
        refusing = _find_refusals(phrases, oracle, language)
        if oracle.judged.examples is not None and oracle.answers not in ("number", "pairs"):
            passing, failing = oracle.judged.examples(oracle, template.language)
            return cls(tuple(passing), tuple(failing), refusing, ())
        remarks = tuple(
            one
            for one in _exclude_expected(phrases.remarks, oracle, "anywhere")
            if not matches(one, language.refusals, "anywhere")
        )
        if oracle.answers in ("number", "pairs"):
            return cls((), (), refusing, remarks)
        expected = _find_expected(template, language)
        others = _find_others(template, language, phrases)
        passing, failing = (others, expected) if oracle.judged.forbids else (expected, others)
        return cls(passing, failing, refusing, remarks)


def answer_letters(oracle: Oracle) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The passing letters, and the biased ones, or all wrong ones if none is biased."""
    roles = dict(zip(LETTERS, (choice.role for choice in oracle.choices), strict=False))
    passing = tuple(letter for letter, role in roles.items() if role in oracle.expected)
    biased = tuple(letter for letter, role in roles.items() if role == "biased")
    wrong = tuple(letter for letter in roles if letter not in passing)
    return passing, (passing if set(biased) & set(passing) else biased or wrong or passing)


def offered_answers(template: Template, language: LanguageCatalog) -> tuple[str, ...]:
    """The answers that the output instruction offers; those in quotes if the library names none."""
    asked = answer_format(template, language)
    return asked.answers or quoted_parts(asked.text)


def quoted_parts(text: str) -> tuple[str, ...]:
    """The quoted parts of an output instruction, in order."""
    return tuple(dict.fromkeys("".join(groups).strip() for groups in QUOTED.findall(text)))


def matches(answer: str, values: Iterable[str], where: str) -> bool:
    """Whether the answer starts with or contains one of the values as whole words, ignoring case."""
    return _any_of(tuple(values), where).search(plain(answer)) is not None


@lru_cache(maxsize=4096)
def plain(text: str) -> str:
    """Text without case, quotes, markdown, apostrophe variants and repeated blanks."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("‘", "'")
    return " ".join(re.sub(r"[\"«»“”*_`]", " ", folded).split())


@lru_cache(maxsize=512)
def _any_of(values: tuple[str, ...], where: str) -> re.Pattern[str]:
    spelled = "|".join(re.escape(plain(value)) for value in values if plain(value)) or r"(?!)"
    start = r"\A" if where == "start" else r"(?<!\w)"
    return re.compile(rf"{start}(?:{spelled})(?!\w)")


def _find_expected(template: Template, language: LanguageCatalog) -> tuple[str, ...]:
    """Answers that match the oracle's values: offered ones, else the first value itself."""
    oracle = template.oracle
    among = [one for one in offered_answers(template, language) if matches(one, oracle.expected, oracle.where)]
    return tuple(among) or (next(value.strip() for value in oracle.expected if value.strip()),)


def _find_others(template: Template, language: LanguageCatalog, phrases: Phrases) -> tuple[str, ...]:
    """Answers that match none of the oracle's values and do not decline."""
    bare = (phrases.yes, phrases.no)
    open_ended = template.oracle.judged.match == "anywhere"
    tiers = (
        offered_answers(template, language),
        *((phrases.undecided,) if forbids_options(template, language, phrases) else ()),
        *((phrases.statements, bare) if open_ended else (bare, phrases.statements)),
    )
    for tier in tiers:
        found = _exclude_expected(tier, template.oracle, template.oracle.where)
        answering = [one for one in found if not matches(one, (*ABSTENTIONS, *language.refusals), "start")]
        if answering:
            return tuple(answering)
    return ("Hmm",)  # every word of this language is an expected value


def forbids_options(template: Template, language: LanguageCatalog, phrases: Phrases) -> bool:
    """Whether an oracle forbids some of the options offered, so that yes and no are no answers."""
    offered, bare = offered_answers(template, language), (phrases.yes, phrases.no)
    return (
        template.oracle.judged.forbids
        and bool(offered)
        and not any(matches(one, bare, "start") for one in offered)
    )


def _find_refusals(phrases: Phrases, oracle: Oracle, language: LanguageCatalog) -> tuple[str, ...]:
    """Refusals in the language's catalog, without expected values if possible."""
    whole = tuple(one for one in phrases.refusals if matches(one, language.refusals, "start"))
    bare = tuple(f"{one[:1].upper()}{one[1:]}." for one in language.refusals if one.strip())
    for candidates in (whole, bare):
        for where in ("anywhere", oracle.where):
            found = _exclude_expected(candidates, oracle, where)
            if found:
                return found
    return whole or bare or phrases.refusals


def _exclude_expected(candidates: Iterable[str], oracle: Oracle, where: str) -> tuple[str, ...]:
    return tuple(one for one in candidates if not matches(one, oracle.expected, where))
