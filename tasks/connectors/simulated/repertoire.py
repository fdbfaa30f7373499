"""Answers to a template that its oracle passes, fails or reads as a refusal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from biasgrid.catalogs.schema.entries import LanguageCatalog, Template
from biasgrid.catalogs.schema.oracle import LETTERS, Oracle
from biasgrid.catalogs.schema.wording import answer_format
from biasgrid.tasks.connectors.simulated.phrases import ABSTENTIONS, Phrases, find_phrases

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
        said, oracle = find_phrases(template.language), template.oracle
        if oracle.choices:
            texts = tuple(choice.text for choice in oracle.choices)
            declining = _refusing(said, oracle.model_copy(update={"expected": texts}), language)
            return cls(*lettered(oracle), declining, ())
        refusing = _refusing(said, oracle, language)
        remarks = _harmless(said.remarks, oracle, language)
        if oracle.answers in ("number", "pairs"):
            return cls((), (), refusing, remarks)
        if oracle.judged.examples is not None:
            passing, failing = oracle.judged.examples(oracle, template.language)
            return cls(tuple(passing), tuple(failing), refusing, ())
        listed, unlisted = _listed(template, language), _others(template, language, said)
        if oracle.judged.forbids:
            return cls(unlisted, listed, refusing, remarks)
        return cls(listed, unlisted, refusing, remarks)


def lettered(oracle: Oracle) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The passing letters, and the biased ones, or all wrong ones if none is biased."""
    roles = dict(zip(LETTERS, (choice.role for choice in oracle.choices), strict=False))
    passing = tuple(letter for letter, role in roles.items() if role in oracle.expected)
    biased = tuple(letter for letter, role in roles.items() if role == "biased")
    wrong = tuple(letter for letter in roles if letter not in passing)
    return passing, (passing if set(biased) & set(passing) else biased or wrong or passing)


def offered(template: Template, language: LanguageCatalog) -> tuple[str, ...]:
    """The answers that the output instruction offers; those in quotes if the library names none."""
    asked = answer_format(template, language)
    return asked.answers or quoted(asked.text)


def quoted(text: str) -> tuple[str, ...]:
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


def _listed(template: Template, language: LanguageCatalog) -> tuple[str, ...]:
    """Answers that match the oracle's values: offered ones, else the first value itself."""
    oracle = template.oracle
    among = [one for one in offered(template, language) if matches(one, oracle.expected, oracle.where)]
    return tuple(among) or (next(value.strip() for value in oracle.expected if value.strip()),)


def _others(template: Template, language: LanguageCatalog, said: Phrases) -> tuple[str, ...]:
    """Answers that match none of the oracle's values and do not decline."""
    bare = (said.yes, said.no)
    open_ended = template.oracle.judged.match == "anywhere"
    tiers = (offered(template, language), *((said.statements, bare) if open_ended else (bare, said.statements)))
    for tier in tiers:
        found = _unlisted(tier, template.oracle, template.oracle.where)
        answering = [one for one in found if not matches(one, (*ABSTENTIONS, *language.refusals), "start")]
        if answering:
            return tuple(answering)
    return ("Hmm",)  # every word of this language is an expected value


def _refusing(said: Phrases, oracle: Oracle, language: LanguageCatalog) -> tuple[str, ...]:
    """Refusals in the language's catalog, without expected values if possible."""
    whole = tuple(one for one in said.refusals if matches(one, language.refusals, "start"))
    bare = tuple(f"{one[:1].upper()}{one[1:]}." for one in language.refusals if one.strip())
    for candidates in (whole, bare):
        for where in ("anywhere", oracle.where):
            found = _unlisted(candidates, oracle, where)
            if found:
                return found
    return whole or bare or said.refusals


def _harmless(remarks: Iterable[str], oracle: Oracle, language: LanguageCatalog) -> tuple[str, ...]:
    unlisted = _unlisted(remarks, oracle, "anywhere")
    return tuple(one for one in unlisted if not matches(one, language.refusals, "anywhere"))


def _unlisted(candidates: Iterable[str], oracle: Oracle, where: str) -> tuple[str, ...]:
    return tuple(one for one in candidates if not matches(one, oracle.expected, where))
