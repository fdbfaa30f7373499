"""Two runs beside each other, or two evaluations of one: what got worse, what better, what moved, what differs.

All that is decided is decided by the models in `warehouse/models/comparison`, in a warehouse of the two alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from catalogs.mistakes import Mistake, UserMistake, nearest
from tasks.aggregate.chosen import Chosen, chosen, told_evaluations
from tasks.aggregate.circumstances import circumstances
from warehouse.build import selected
from warehouse.lake import Lake
from warehouse.runs import Run
from warehouse.sides import EARLIER, LATER, Side, side_by_side

FINDINGS = ("requirements", "languages")
OF_RUNS = (*FINDINGS, "only_in_one", "criteria", "answering")
OF_EVALUATIONS = (*FINDINGS, "criteria", "moves", "oracles", "changed_tests", "changed_replies")
"""Tables of the schema `comparison`, of benchmarks."""
OF_KINDS = {
    "probe": ("probe_findings",),
    "redteam": ("attack_success",),
    "interaction": ("bias_scores", "escalation"),
}
"""The same of the other kinds of runs, named as the marts that they compare."""
BESIDE = ("criteria", "answering")
"""Tables whose rows are circumstances."""
TESTED = (
    *("templates", "prompts", "earlier_rate", "later_rate", "difference", "standard_error", "low", "high"),
    *("only_earlier", "only_later", "test", "p_value", "q_value", "change", "why_not_compared"),
)
"""Columns of a test, which two evaluations of the same replies have no use for."""


@dataclass(frozen=True)
class Comparison:
    """Earlier and later are as they were named, whichever ran first."""

    earlier: Chosen
    later: Chosen
    models: Mapping[str, str]
    """Models of the earlier run that are compared with one of another name in the later one, and with which."""
    left_out: tuple[str, ...]
    """Models that are in no comparison, since others were named."""
    circumstances: pl.DataFrame
    """What differs beside the replies, columns as CIRCUMSTANCES."""
    tables: Mapping[str, pl.DataFrame]
    """OF_RUNS or OF_EVALUATIONS, or those of OF_KINDS, but for BESIDE; columns are described in
    `warehouse/models/comparison/*.yml`."""

    @property
    def is_of_one_run(self) -> bool:
        """Whether the same replies are compared, by two evaluations."""
        return self.earlier.run.run_id == self.later.run.run_id

    @property
    def kind(self) -> str:
        """Of both runs."""
        return self.later.run.kind


def compare(lake: Lake, earlier: str, later: str, pairs: Sequence[str] = ()) -> Comparison:
    """Compares what two words `RUN[@EVALUATION]` name; `pairs` are models of other names, as `A=B`.

    Raises UserMistake for runs, evaluations and models that there are not, for the same evaluation twice and for
    runs of different kinds; `LakeDamaged` where the files of one cannot be read.
    """
    before, after = chosen(lake, earlier), chosen(lake, later)
    _refuse_different(before.run, after.run)
    _refuse_the_same(before, after)
    models, left_out = _paired(lake, before, after, pairs)
    sides = _sides(lake, before, after, models, only=bool(pairs))
    tables = _tables(before.run, after.run)
    with side_by_side(lake, *sides, tables) as warehouse:
        found = {name: selected(warehouse, f"from comparison.{name} order by all") for name in tables}
    differing = pl.concat([*_as_circumstances(found), circumstances(before, after)])
    told = {name: rows for name, rows in found.items() if name not in BESIDE}
    of_one_run = before.run.run_id == after.run.run_id
    return Comparison(before, after, models, left_out, differing, _untested(told) if of_one_run else told)


def _tables(earlier: Run, later: Run) -> tuple[str, ...]:
    if later.kind in OF_KINDS:
        return (*OF_KINDS[later.kind], "answering")
    return OF_EVALUATIONS if earlier.run_id == later.run_id else OF_RUNS


def _refuse_different(earlier: Run, later: Run) -> None:
    if earlier.kind == later.kind:
        return
    what = f"run `{earlier.run_id}` is {earlier.of_kind}, run `{later.run_id}` {later.of_kind}"
    remedy = "name two runs of one kind: `biasgrid runs` lists them"
    raise UserMistake(Mistake(f"{what}: they measure nothing in common", remedy=remedy))


def _refuse_the_same(before: Chosen, after: Chosen) -> None:
    if (before.run.run_id, before.evaluation_id) != (after.run.run_id, after.evaluation_id):
        return
    known = before.evaluations
    remedy = (
        f"name another one after an @: {told_evaluations(known)}"
        if len(known) > 1
        else f"name another run{_again(before.run)}"
    )
    what = f"both are run `{before.run.run_id}` by its evaluation `{before.evaluation_id}`"
    raise UserMistake(Mistake(what, remedy=remedy))


def _again(run: Run) -> str:
    return "" if run.kind == "redteam" else f", or judge this one again: `biasgrid evaluate {run.run_id}`"


def _paired(
    lake: Lake, before: Chosen, after: Chosen, pairs: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Models by their name in the later run, and those that take no part."""
    own, other = (_models(lake, side) for side in (before, after))
    if not pairs:
        single = len(own) == len(other) == 1 and own != other
        return (dict(zip(own, other, strict=True)) if single else {}), ()
    if before.run.run_id == after.run.run_id:
        remedy = "name two runs, or leave --as out"
        raise UserMistake(Mistake("two evaluations of one run judge the same models", "--as", remedy))
    named = dict(_pair(pair, own, other) for pair in pairs)
    if len(named) < len(pairs) or len(set(named.values())) < len(pairs):
        raise UserMistake(Mistake("a model is named twice", "--as", "name each model in one pair"))
    rest = {*own, *other} - named.keys() - set(named.values())
    return named, tuple(sorted(rest))


def _pair(pair: str, own: Sequence[str], other: Sequence[str]) -> tuple[str, str]:
    earlier, sign, later = pair.partition("=")
    if not (sign and earlier and later):
        remedy = "write a model of the first run, `=`, and one of the second"
        raise UserMistake(Mistake(f"`{pair}` names no two models", "--as", remedy))
    sides = ((earlier, own, "first"), (later, other, "second"))
    mistakes = [
        Mistake(f"model `{name}` is not in the {nth} run", "--as", nearest(name, known))
        for name, known, nth in sides
        if name not in known
    ]
    if mistakes:
        raise UserMistake(mistakes)
    return earlier, later


def _models(lake: Lake, side: Chosen) -> list[str]:
    return sorted(lake.scan("cases", side.run.run_id).select("model").unique().collect()["model"])


def _sides(
    lake: Lake, before: Chosen, after: Chosen, models: Mapping[str, str], *, only: bool
) -> tuple[Side, Side]:
    own, other = (
        (_cells(lake, before, models.keys()), _cells(lake, after, models.values())) if only else (None, None)
    )
    return (
        Side(EARLIER, before.run.run_id, before.filtered, models, own),
        Side(LATER, after.run.run_id, after.filtered, cells=other),
    )


def _cells(lake: Lake, side: Chosen, models: Iterable[str]) -> frozenset[str]:
    asked = lake.scan("cases", side.run.run_id).filter(pl.col("model").is_in(list(models)))
    return frozenset(asked.select("cell_id").unique().collect()["cell_id"])


def _as_circumstances(found: Mapping[str, pl.DataFrame]) -> list[pl.DataFrame]:
    named = {
        "criteria": (pl.lit("criterion").alias("what"), pl.format("{}: {}", "requirement", "criterion")),
        "answering": (pl.col("what"), pl.col("model")),
    }
    told = ((found[table], *columns) for table, columns in named.items() if table in found)
    return [rows.select(what, name.alias("name"), *SIDES) for rows, what, name in told]


SIDES = ("earlier", "later")


def _untested(found: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    return {name: rows.drop(_of_tests(name), strict=False) for name, rows in found.items()}


def _of_tests(table: str) -> list[str]:
    """What a probe calls a test is how it asks."""
    return [column for column in TESTED if (table, column) != ("probe_findings", "test")]
