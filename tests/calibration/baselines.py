"""Respondents that do not read the question, through the whole pipeline: do the marts give their exact rates?

Simulated respondents that always say "No", always "Yes", always the first answer offered, 50 where a number is
asked for, or that decline, are asked the shipped library; replies are read, the warehouse is built, and its marts
state what passed, next to what must come out, counted in the library's text by the plainest rule there is:
an answer is expected where the words of an expected value stand at its beginning.
"""

import asyncio
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import harness  # noqa: F401  finds `support`

from biasgrid.catalogs.loading.catalog import Catalog, load_catalog
from biasgrid.catalogs.scenario.scenario import ResolvedScenario, resolve
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.evaluate.evaluate import read_reply
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake
from support.plain_runs import run_benchmark

WORDS = {"constant-no": ("No", "No", "No"), "constant-yes": ("Yes", "Sí", "Sí")}
LANGUAGES = ("en_us", "es_es", "ca_es")
RESPONDENTS = ("constant-no", "constant-yes", "first-option", "refuser")
QUOTED = re.compile(r"[\"“«]([^\"”»]+)[\"”»]")
NUMBER = 50

Key = tuple[str, str, str]
"""Respondent, concern, language."""


@dataclass(frozen=True, slots=True)
class Tests:
    """How many template tests came out how."""

    passed: int
    failed: int
    refused: int
    incomparable: int

    def __str__(self) -> str:
        counts = f"{self.passed} passed, {self.failed} failed, {self.refused} refused"
        return f"{counts}, {self.incomparable} incomparable" if self.incomparable else counts


@dataclass(frozen=True, slots=True)
class Exact:
    """What one respondent passes of one concern in one language."""

    key: Key
    measured: Tests
    counted: Tests

    @property
    def holds(self) -> bool:
        return self.measured == self.counted

    def __str__(self) -> str:
        counted = "" if self.holds else f"   counted {self.counted}"
        return f"{' · '.join(self.key):<46} {self.measured}{counted}"


def scenario(concerns: Iterable[str], languages: Iterable[str], templates: int) -> ResolvedScenario:
    """Each concern as a requirement of its own, with the communities that its library is written for."""
    asked = {"languages": list(languages), "tolerance": 0.9, "delta": 0.02}
    settings: dict[str, Any] = {"models": [f"simulated/{name}" for name in RESPONDENTS], "templates": templates}
    return resolve(
        {
            "name": "baselines",
            "scenario": settings | {"seed": 7, "temperature": 1.0, "max_tokens": 60, "retries": 0},
            "requirements": [{"name": concern, "concern": concern, **asked} for concern in concerns],
        }
    )


MEASURED = """
    select
        replace(model, 'simulated/', '') as respondent,
        concern,
        language,
        sum(passed)::bigint as passed,
        sum(failed)::bigint as failed,
        sum(refused)::bigint as refused,
        sum(incomparable)::bigint as incomparable
    from marts.pass_rates
    group by all
"""


def read_rates(lake: Lake) -> dict[Key, Tests]:
    """The rates of the marts."""
    return {(row[0], row[1], row[2]): Tests(*row[3:]) for row in query(lake, MEASURED).iter_rows()}


ASKED = "select distinct concern, language, template from staging.stg_cases"


def count_rates(lake: Lake, catalog: Catalog) -> dict[Key, Tests]:
    """The rates that the library's text gives for the templates that were asked."""
    library = {(template.language, template.id): template for template in catalog.templates}
    found: dict[Key, Counter[str]] = {}
    for concern, language, template in query(lake, ASKED).iter_rows():
        for respondent in RESPONDENTS:
            outcome = outcome_of(respondent, library[language, template], catalog)
            found.setdefault((respondent, concern, language), Counter())[outcome] += 1
    return {key: Tests(**{name: count[name] for name in Tests.__slots__}) for key, count in found.items()}


def outcome_of(respondent: str, template: Template, catalog: Catalog) -> str:
    """Of a template's test; each instance of it is answered alike."""
    if template.oracle.operation == "allSameValue" and "{" not in template.prompt and not template.paraphrases:
        return "incomparable"
    if respondent == "refuser":
        return "refused"
    if template.oracle.operation == "allSameValue":
        return "passed" if template.oracle.scale.low <= NUMBER <= template.oracle.scale.high else "failed"
    answer = reply_of(respondent, template, catalog)
    if not is_answer(template.oracle.model_dump_json(), answer, template.language):
        return "unreadable"  # such as a yes to the question which of two
    meant = any(begins_with(answer, value) for value in template.oracle.expected)
    return "passed" if meant is (template.oracle.operation == "allEqualExpected") else "failed"


@cache
def is_answer(rule: str, answer: str, language: str) -> bool:
    """Whether an oracle (as JSON) reads an answer in a reply."""
    oracle = Oracle.model_validate_json(rule)
    return read_reply(oracle, answer, language=shipped_catalog().languages[language]).outcome != "unreadable"


shipped_catalog = cache(load_catalog)


def reply_of(respondent: str, template: Template, catalog: Catalog) -> str:
    """Its reply where words are asked for."""
    place = LANGUAGES.index(template.language)
    if respondent in WORDS:
        return WORDS[respondent][place]
    named = catalog.languages[template.language].formats.get(template.format)
    text, answers = (named.text, named.answers) if named else (template.format, template.answers)
    first = QUOTED.search(text)
    return first[1] if first else next(iter(answers), WORDS["constant-yes"][place])


def begins_with(answer: str, value: str) -> bool:
    words, wanted = answer.casefold().split(), value.casefold().split()
    return words[: len(wanted)] == wanted


def measure(concerns: Iterable[str], languages: Iterable[str], templates: int) -> Iterator[Exact]:
    """Respondent by respondent, in the order of concerns and languages."""
    resolved = scenario(concerns, languages, templates)
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(Path(folder))
        asyncio.run(run_benchmark(lake, resolved))
        found, wanted = read_rates(lake), count_rates(lake, resolved.catalog)
    for key in sorted(found.keys() | wanted.keys()):
        yield Exact(key, found.get(key, NOTHING), wanted.get(key, NOTHING))


NOTHING = Tests(0, 0, 0, 0)
