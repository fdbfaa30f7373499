"""Compares two runs, or two evaluations of one, by the models in `warehouse/models/comparison`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.tasks.aggregate.run_selector import Chosen, choose_evaluation, list_evaluations
from biasgrid.warehouse.build.build import fetch_rows
from biasgrid.warehouse.build.compare_runs import side_by_side
from biasgrid.warehouse.build.models import compared_marts
from biasgrid.warehouse.build.run_scope import EARLIER, LATER, Side
from biasgrid.warehouse.schemas import KINDS, OTHER_KINDS, RED_TEAM
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import Run, refuse_other_kinds

CIRCUMSTANCES: Final = {"what": pl.String, "name": pl.String, "earlier": pl.String, "later": pl.String}
"""One row per difference; `what` is `scenario`, `catalog`, `version`, `criterion`, `answered as` or `parameters`.
Null where a side has no such thing."""
ABSENT: Final = object()
DIGITS: Final = 12
"""Characters of a file's hash that are shown."""
OF_EVALUATION: Final = frozenset(
    {"concern", "rationale", "tolerance", "delta", "refusals", "max_refusals", "coverage", "judge"}
)
"""Keys of a scenario that each evaluation can set differently."""


SHARED: Final = {"target": "target: ", "asking": "asking: "}


def circumstances(earlier: Chosen, later: Chosen) -> pl.DataFrame:
    """The differences in prompts and criteria, columns as CIRCUMSTANCES, without requirements that only one run
    has."""
    sides = [_settings(earlier), _settings(later)]
    shared = sides[0].keys() & sides[1].keys()
    rows = [
        row
        for part in sorted(shared)
        for row in _differences("scenario", sides[0][part], sides[1][part], prefix=part)
    ]
    rows += _differences("version", _parse_json(earlier.versions), _parse_json(later.versions))
    rows += _differences("catalog", _files(earlier), _files(later))
    return pl.DataFrame(rows, schema=CIRCUMSTANCES, orient="row")


def _differences(
    what: str, earlier: Mapping[str, Any], later: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, str, str | None, str | None]]:
    for name in sorted(earlier.keys() | later.keys()):
        before, after = earlier.get(name, ABSENT), later.get(name, ABSENT)
        if before != after:
            yield what, f"{prefix}{name}", _as_text(before), _as_text(after)


def _as_text(value: object) -> str | None:
    if value is ABSENT:
        return None
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _parse_json(recorded: str | None) -> dict[str, Any]:
    parsed: dict[str, Any] = orjson.loads(recorded or "{}")
    return parsed


def _files(chosen: Chosen) -> dict[str, str]:
    return {file: content[:DIGITS] for file, content in _parse_json(chosen.catalog_hashes).items()}


def _settings(chosen: Chosen) -> dict[str, dict[str, Any]]:
    """The keys of a scenario, and those of each requirement below its name and a colon."""
    settings = _parse_json(chosen.run.scenario_resolved)
    if chosen.run.kind in OTHER_KINDS:
        return {name: settings.get(part) or {} for part, name in (*SHARED.items(), (chosen.run.kind, ""))}
    parts = {"": settings.get("scenario") or {}}
    parts |= {f"{requirement['name']}: ": requirement for requirement in settings.get("requirements") or ()}
    return {
        part: {key: value for key, value in keys.items() if key not in OF_EVALUATION | {"name"}}
        for part, keys in parts.items()
    }


FINDINGS = ("requirements", "languages")
OF_RUNS = (*FINDINGS, "only_in_one", "criteria", "answering")
OF_EVALUATIONS = (*FINDINGS, "criteria", "moves", "oracles", "changed_tests", "changed_replies")
"""Tables of the schema `comparison`, of benchmarks."""
AS_CIRCUMSTANCES = ("criteria", "answering")
"""Tables whose rows are circumstances."""
TESTED = (
    *("templates", "earlier_rate", "later_rate", "difference", "standard_error", "low", "high"),
    *("only_earlier", "only_later", "test", "p_value", "p_adjusted", "q_value", "change", "why_not_compared"),
)
"""Columns of a test that are left out when two evaluations of the same replies are compared."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of two sides, earlier and later in the order in which they were named."""

    earlier: Chosen
    later: Chosen
    models: Mapping[str, str]
    """Models of the earlier run that are compared with a model of another name in the later one."""
    left_out: tuple[str, ...]
    """Models that are in no comparison, since others were named."""
    circumstances: pl.DataFrame
    """Differences in circumstances, columns as CIRCUMSTANCES."""
    tables: Mapping[str, pl.DataFrame]
    """OF_RUNS or OF_EVALUATIONS, or `compared_marts`, but for AS_CIRCUMSTANCES; columns are described in
    `warehouse/models/comparison/*.yml`."""

    @property
    def is_of_one_run(self) -> bool:
        """Whether two evaluations of the same replies are compared."""
        return self.earlier.run.run_id == self.later.run.run_id and not self.is_of_models

    @property
    def is_of_models(self) -> bool:
        """Whether two models of one evaluation are compared."""
        return self.earlier.name == self.later.name

    @property
    def kind(self) -> str:
        """The kind of both runs."""
        return self.later.run.kind


def compare(lake: Lake, earlier: str, later: str, pairs: Sequence[str] = ()) -> Comparison:
    """The comparison of two `RUN[@EVALUATION]`; `pairs` are models of different names, as `A=B`.

    Raises UserError for unknown runs, evaluations and models, for the same evaluation twice and for runs of
    different kinds; `LakeDamaged` if files of one cannot be read.
    """
    before, after = choose_evaluation(lake, earlier), choose_evaluation(lake, later)
    _refuse_different(before.run, after.run)
    refuse_other_kinds(after.run, "comparison", *KINDS)
    _refuse_the_same(before, after)
    models, left_out = _pair_models(lake, before, after, pairs)
    sides = _sides(lake, before, after, models, only=bool(pairs))
    found = _read(lake, sides, _tables(before.run, after.run))
    if before.run.run_id == after.run.run_id:
        found = {name: rows.drop(_of_tests(name), strict=False) for name, rows in found.items()}
    return _comparison((before, after), models, left_out, found)


def compare_models(lake: Lake, run: str, named: tuple[str, str]) -> Comparison:
    """The comparison of two models of `RUN[@EVALUATION]`, the first as the earlier side; `openai/gpt-4o` may be
    named `gpt-4o`. Raises UserError for an unknown run or model, and for the same model twice."""
    chosen = choose_evaluation(lake, run)
    refuse_other_kinds(chosen.run, "comparison", *KINDS)
    known = _models(lake, chosen)
    own, other = (_find_model(name, known) for name in named)
    if own == other:
        raise UserError(Problem(f"`{own}` is named twice", "--models", "name two of " + ", ".join(known)))
    sides = _sides(lake, chosen, chosen, {own: other}, only=True)
    tables = compared_marts(chosen.run.kind) if chosen.run.kind in OTHER_KINDS else OF_RUNS
    rest = tuple(name for name in known if name not in (own, other))
    return _comparison((chosen, chosen), {own: other}, rest, _read(lake, sides, tables))


def _find_model(name: str, known: Sequence[str]) -> str:
    found = [one for one in known if name == one or one.endswith(f"/{name}")]
    if len(found) == 1:
        return found[0]
    what = f"model `{name}` is not in the run" if not found else f"`{name}` may be any of {len(found)} models"
    whole = {one.partition("/")[2]: one for one in known} | {one: one for one in known}
    raise UserError(Problem(what, "--models", nearest(name, found or whole, whole)))


def _comparison(
    sides: tuple[Chosen, Chosen],
    models: Mapping[str, str],
    left_out: tuple[str, ...],
    found: Mapping[str, pl.DataFrame],
) -> Comparison:
    differing = pl.concat([*_as_circumstances(found), circumstances(*sides)])
    compared = {name: rows for name, rows in found.items() if name not in AS_CIRCUMSTANCES}
    return Comparison(*sides, models, left_out, differing, compared)


def _read(lake: Lake, sides: tuple[Side, Side], tables: tuple[str, ...]) -> dict[str, pl.DataFrame]:
    with side_by_side(lake, *sides, tables) as warehouse:
        return {name: fetch_rows(warehouse, f"from comparison.{name} order by all") for name in tables}


def _tables(earlier: Run, later: Run) -> tuple[str, ...]:
    if later.kind in OTHER_KINDS:
        return (*compared_marts(later.kind), "answering")
    return OF_EVALUATIONS if earlier.run_id == later.run_id else OF_RUNS


def _refuse_different(earlier: Run, later: Run) -> None:
    if earlier.kind == later.kind:
        return
    what = f"run `{earlier.run_id}` is {earlier.of_kind}, run `{later.run_id}` {later.of_kind}"
    remedy = "name two runs of one kind: `biasgrid runs` lists them"
    raise UserError(Problem(f"{what}: they measure nothing in common", remedy=remedy))


def _refuse_the_same(before: Chosen, after: Chosen) -> None:
    if (before.run.run_id, before.evaluation_id) != (after.run.run_id, after.evaluation_id):
        return
    known, judge = before.evaluations, f", or judge this one again: `biasgrid evaluate {before.run.run_id}`"
    remedy = f"name another run{'' if before.run.kind == RED_TEAM else judge}"
    if len(known) > 1:
        remedy = f"name another one after an @: {list_evaluations(known)}"
    what = f"both are run `{before.run.run_id}` by its evaluation `{before.evaluation_id}`"
    raise UserError(Problem(what, remedy=remedy))


def _pair_models(
    lake: Lake, before: Chosen, after: Chosen, pairs: Sequence[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Models by their name in the later run, and those that are left out."""
    own, other = (_models(lake, side) for side in (before, after))
    if not pairs:
        single = len(own) == len(other) == 1 and own != other
        return (dict(zip(own, other, strict=True)) if single else {}), ()
    if before.run.run_id == after.run.run_id:
        remedy = "name two runs, or leave --as out"
        raise UserError(Problem("two evaluations of one run judge the same models", "--as", remedy))
    named = dict(_pair(pair, own, other) for pair in pairs)
    if len(named) < len(pairs) or len(set(named.values())) < len(pairs):
        raise UserError(Problem("a model is named twice", "--as", "name each model in one pair"))
    rest = {*own, *other} - named.keys() - set(named.values())
    return named, tuple(sorted(rest))


def _pair(pair: str, own: Sequence[str], other: Sequence[str]) -> tuple[str, str]:
    earlier, sign, later = pair.partition("=")
    if not (sign and earlier and later):
        remedy = "write a model of the first run, `=`, and one of the second"
        raise UserError(Problem(f"`{pair}` names no two models", "--as", remedy))
    sides = ((earlier, own, "first"), (later, other, "second"))
    mistakes = [
        Problem(f"model `{name}` is not in the {nth} run", "--as", nearest(name, known))
        for name, known, nth in sides
        if name not in known
    ]
    if mistakes:
        raise UserError(mistakes)
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
    selected = ((found[table], *columns) for table, columns in named.items() if table in found)
    return [rows.select(what, name.alias("name"), *SIDES) for rows, what, name in selected]


SIDES = ("earlier", "later")


def _of_tests(table: str) -> list[str]:
    """What a probe calls a test is how it asks."""
    return [column for column in TESTED if column != "test" or not table.startswith("probe_")]
