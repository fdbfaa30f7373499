"""What every page begins with: the answer, the next commands, a line for each model, the worst replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from biasgrid.tasks.report.answer import Answer, ModelAnswer, answer
from biasgrid.tasks.report.examples import Example, Side, sides, spread_out, worst_examples
from biasgrid.tasks.report.html.page import split_difference
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.tasks.report.phrases import Phrases
from biasgrid.tasks.report.verdicts import VERDICTS
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run

EXAMPLES: Final = 5


def page_answer(lake: Lake, run_id: str) -> Answer:
    """With commands that name the run by its whole id: a page outlives what makes a short one unique."""
    return replace(answer(lake, run_id), short=run_id)


def first_view(lake: Lake, run_id: str) -> dict[str, Any]:
    """For a page's script."""
    found = page_answer(lake, run_id)
    spoken = {language: found.in_language(language) for language in LANGUAGES}
    examples = spread_out(worst_examples(lake, found.run))[:EXAMPLES]
    return {
        "head": {language: one.head for language, one in spoken.items()},
        "sentences": {language: one.sentences() for language, one in spoken.items()},
        "steps": found.next_steps(is_page=True),
        "counts": count_verdicts(found.models),
        "models": [model_line(one) for one in found.models],
        "examples": [_show(lake, found.run, one) for one in examples],
    }


def answer_values(lake: Lake, run_id: str, language: str) -> dict[str, Any]:
    """For a page's template."""
    found = page_answer(lake, run_id).in_language(language)
    examples = spread_out(worst_examples(lake, found.run))[:EXAMPLES]
    return {"answer": found, "verdicts": count_verdicts(found.models), "examples": examples}


def count_verdicts(models: Sequence[ModelAnswer]) -> dict[str, int]:
    """How many checks of all models have which state, of every state."""
    counted = sum((one.counts for one in models), Counter[str]())
    return {state: counted[state] for state in VERDICTS}


def model_line(one: ModelAnswer) -> dict[str, Any]:
    """For a page's script; the verdict by language."""
    names = ("model", "state", "is_examined", "refused")
    verdict = {
        language: replace(one, phrases=Phrases(one.phrases.kind, language)).verdict for language in LANGUAGES
    }
    tests = sum(check.total for check in one.checks)
    return {name: getattr(one, name) for name in names} | {"verdict": verdict, "tests": tests}


def _show(lake: Lake, run: Run, example: Example) -> dict[str, Any]:
    found = sides(lake, run, example)
    return asdict(example) | {"sides": [asdict(one) for one in found], "parts": _parts(found)}


def _parts(found: Sequence[Side]) -> list[str]:
    """The common beginning of two prompts, what is the first one's own, the second's own, and the common end."""
    if len(found) < 2:
        return []
    one, other = found[0].prompt, found[1].prompt
    begin, own, end = split_difference(one, other)
    return [begin, own, split_difference(other, one)[1], end]
