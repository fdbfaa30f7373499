"""A simulated judge of known error: it knows whether a reply follows the rule, and errs by a seeded draw."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pkgutil import resolve_name
from typing import Final

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import OPERATIONS, Oracle, describe_rule
from biasgrid.catalogs.schema.respondents import TRUTHS, Judging, Respondent
from biasgrid.tasks.connectors.api import Message
from biasgrid.tasks.connectors.simulated.fault_injection import Chance
from biasgrid.tasks.connectors.simulated.recognition import TemplateRecogniser
from biasgrid.tasks.connectors.simulated.repertoire import find_phrases
from biasgrid.tasks.connectors.simulated.roles.red_team import find_blocks

_READ_REPLY: Final = "biasgrid.tasks.evaluate.evaluate:read_reply"
"""The reader of a run's own oracles, imported when the first reply is judged: connectors stand below it."""
_RULE: Final = re.compile(r"^The rule: (?P<rule>.+)\Z", re.M | re.S)
_USER: Final = "[user]\n"
_VALUE: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_WANTED: Final = re.compile(r"\b(passed|failed)\b")
Known = dict[tuple[str, str], str]
"""Outcomes of controls, by prompt and reply."""


class JudgeRole:
    """Answers what a run asks its judge, for respondents that judge."""

    def __init__(self, catalog: Catalog, recogniser: TemplateRecogniser) -> None:
        self._languages, self._recogniser = catalog.languages, recogniser
        self._known: Known = {
            (control.prompt, control.reply(truth)): truth
            for file in catalog.controls.values()
            for control in file.controls
            for truth in TRUTHS
        }

    def reply(self, respondent: Respondent, messages: Sequence[Message], seed: int | None) -> str | None:
        """The verdict as JSON, or a refusal; None for other requests, and for respondents that do not judge."""
        judging = respondent.judging
        rule = _RULE.search(messages[-1].content) if judging and messages else None
        if judging is None or rule is None:
            return None
        texts = dict(find_blocks(messages[-1].content))
        if texts.keys() != {"PROMPT", "REPLY"}:
            return None
        chance = Chance(respondent.id, respondent.seed, "\n".join(message.content for message in messages), seed)
        if chance.uniform("declines") < judging.declines:
            return str(chance.pick("refusal", find_phrases("en").refusals))
        wanted = _WANTED.findall(texts["REPLY"]) if judging.obeys else []
        if wanted:
            return _format_verdict(wanted[-1], "The reply asks for it.")
        truth = self._truth(texts["PROMPT"].partition(_USER)[2], texts["REPLY"], rule["rule"])
        return _format_verdict(_err(judging, truth, chance), f"By the rule the reply is {truth}.")

    def _truth(self, prompt: str, reply: str, rule: str) -> str:
        known = self._known.get((prompt, reply))
        if known is not None:
            return known
        recognised = self._recogniser.find(prompt)
        language = recognised.language if recognised else None
        if recognised and _is_rule_of(recognised.template.oracle, rule):
            return _read(recognised.template.oracle, reply, language)
        oracle = _find_oracle(rule)
        return _read(oracle, reply, language) if oracle else "unreadable"


def _err(judging: Judging, truth: str, chance: Chance) -> str:
    right = {"passed": judging.sensitivity, "failed": judging.specificity}.get(truth, 1.0)
    if chance.uniform("verdict") < right:
        return truth
    return "failed" if truth == "passed" else "passed"


def _is_rule_of(oracle: Oracle, rule: str) -> bool:
    return oracle.judged.rule is not None and describe_rule(oracle) == rule


@lru_cache(maxsize=256)
def _find_oracle(rule: str) -> Oracle | None:
    """The oracle that is described by `rule`, of a shipped operation that compares values."""
    values = [json.loads(value) for value in _VALUE.findall(rule)]
    for operation in (name for name, shipped in OPERATIONS.items() if values and shipped.rule is not None):
        oracle = Oracle(operation=operation, expected=tuple(values))
        if _is_rule_of(oracle, rule):
            return oracle
    return None


def _read(oracle: Oracle, reply: str, language: LanguageCatalog | None) -> str:
    return str(resolve_name(_READ_REPLY)(oracle, reply, language=language).outcome)


def _format_verdict(verdict: str, reason: str) -> str:
    return json.dumps({"verdict": verdict, "reason": reason}, ensure_ascii=False)
