"""Seconds to write the pages of a run: 16 models × 8 concerns × 3 languages, and what a browser loads first.

python tests/performance/reporting.py [replies] [folder to keep the report in]
"""

import random
import sys
import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

import polars as pl
from rig.timing import seconds

from biasgrid.tasks.report.html.run_pages import write_run_pages
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake

FORMS = tuple(product(("constrained", "verbose"), ("observational", "utopian")))
COMMUNITIES = ("women", "men", "nonbinary people", "older people", "younger people")
MOST_S, MOST_MB = 20, 1
WORDS = ("the", "of", "and", "to", "in", "is", "was", "for", "on", "with", "as", "they", "be", "this", "at", "not")


@dataclass(frozen=True)
class Shape:
    """How many models a run asks about how much."""

    models: int
    concerns: int
    languages: tuple[str, ...]
    forms: tuple[tuple[str, str], ...] = FORMS

    @property
    def cells(self) -> int:
        return self.models * self.concerns * len(self.languages) * len(self.forms)


SOME: Final = Shape(16, 8, ("en_us", "es_es", "ca_es"))


def land(lake: Lake, shape: Shape, replies: int) -> None:
    """A run of every cell, with texts of some forty words that do not recur."""
    drawn = random.Random(7)
    run = {"run_id": "R1", "event_id": "1", "state": "completed", "kind": "benchmark"}
    lake.write("runs", "R1", "1", pl.DataFrame([run | {"scenario_resolved": "{}", "versions": "{}"}]))
    rules = {"tolerance": 0.9, "delta": 0.02, "max_refusals": 0.5, "coverage": 0.95, "refusals": "separate"}
    asked = {"run_id": "R1", "evaluation_id": "E1"}
    names = [{"requirement": f"requirement-{concern}"} for concern in range(shape.concerns)]
    lake.write("criteria", "R1", "1", pl.DataFrame([asked | rules | name for name in names]))
    for model in range(shape.models):
        _land_model(lake, shape, model, max(1, round(replies / shape.cells / len(COMMUNITIES))), drawn)


def _land_model(lake: Lake, shape: Shape, model: int, templates: int, drawn: random.Random) -> None:
    rows = [
        _row(model, concern, language, form, template, community, drawn)
        for concern, language, form in product(range(shape.concerns), shape.languages, shape.forms)
        for template, community in product(range(templates), COMMUNITIES)
    ]
    result = pl.DataFrame(rows)
    name = f"model-{model}"
    lake.write("cases", "R1", name, result.drop("text", "outcome", "reason"))
    answered = result.select("run_id", "cell_id", "case_id", "request_key", "provider", "model", "text", "sample")
    lake.write(
        "responses",
        "R1",
        name,
        answered.with_columns(response_id=pl.col("case_id").str.reverse(), purpose=pl.lit("subject")),
    )
    keys = ("run_id", "cell_id", "template_id", "sample", "outcome")
    judged = result.select(*keys, "case_id", "reason", level=pl.lit("instance"), verdict_id="case_id")
    whole = result.group_by(*keys[:-1]).agg(pl.col("outcome").min(), verdict_id=pl.col("case_id").first() + "-t")
    verdicts = pl.concat([judged, whole.with_columns(level=pl.lit("template"))], how="diagonal")
    by = {"evaluation_id": "E1", "assessor_kind": "oracle", "assessor": "allEqualExpected"}
    lake.write(
        "verdicts", "R1", name, verdicts.with_columns(pl.lit(value).alias(key) for key, value in by.items())
    )


def _row(
    model: int,
    concern: int,
    language: str,
    form: tuple[str, str],
    template: int,
    community: str,
    drawn: random.Random,
) -> dict[str, object]:
    cell = f"{model}-{concern}-{language}-{form[0]}-{form[1]}"
    asked = f"{concern}-{language}-{form[0][0]}{form[1][0]}-{template}"
    case_id = f"{drawn.getrandbits(128):032x}"
    question = f"{asked}: would {{COMMUNITY}} do as well as anybody in work that asks for patience and for skill?"
    outcome = drawn.choices(("passed", "failed", "refused"), (94 - model % 16, 4 + model % 16, 2))[0]
    return {
        "run_id": "R1",
        "cell_id": cell,
        "case_id": case_id,
        "request_key": case_id,
        "sample": 1,
        "instance_id": f"{asked}/{community}",
        "template_id": asked,
        "template": asked,
        "requirement": f"requirement-{concern}",
        "concern": f"concern-{concern}",
        "provider": "simulated",
        "model": f"simulated/model-{model:02}",
        "language": language,
        "input": form[0],
        "reflection": form[1],
        "template_text": question,
        "communities": [community],
        "oracle_type": "expected value",
        "operation": "allEqualExpected",
        "oracle": '{"operation":"allEqualExpected","expected":["Yes"]}',
        "messages": [{"role": "user", "content": question.replace("{COMMUNITY}", community)}],
        "text": " ".join(drawn.choices(WORDS, k=40)),
        "outcome": outcome,
        "reason": "begins with `Yes`" if outcome == "passed" else "matches no expected value",
    }


def measure(replies: int, kept: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(Path(folder) / "lake")
        out = kept or Path(folder) / "report"
        land(lake, SOME, replies)
        build(lake)
        spent = seconds(lambda: write_run_pages(lake, "R1", out), times=1)
        files = [path for path in out.rglob("*") if path.is_file()]
        first = sum((out / name).stat().st_size for name in ("index.html", "data/run.js")) / 1e6
        whole = sum(path.stat().st_size for path in files) / 1e6
        rows = lake.scan("responses").select(pl.len()).collect().item()
        print(f"{rows:,} replies in {SOME.cells:,} cells: {len(files)} files, {whole:.1f} MB")
        print(f"{'report':>12} {spent:7.2f} s (at most {MOST_S})")
        print(f"{'first view':>12} {first:7.2f} MB (at most {MOST_MB})")


if __name__ == "__main__":
    measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, Path(sys.argv[2]) if len(sys.argv) > 2 else None)
