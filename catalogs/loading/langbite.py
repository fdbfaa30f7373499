"""Reads LangBiTe's tab-separated template libraries, in the format of its paper (section 2.2) and repository."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from biasgrid.catalogs.errors import Problem, UserError, nearest, place
from biasgrid.catalogs.loading.normal_form import offered_yes_no, passes
from biasgrid.catalogs.loading.pydantic_errors import explain, remedy
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.oracle import Oracle, find_operation

COLUMNS = (
    "prompt_id",
    "concern",
    "input_type",
    "reflection_type",
    "task_prefix",
    "prompt",
    "output_formatting",
    "oracle",
    "oracle_prediction",
)
ORACLES = ("expected value", "same value")
OPERATIONS = ("equal", "different", "notIncludesAny", "allEqualExpected", "allSameValue")
LANGUAGE_IN_NAME = re.compile(r"(?:^|[_.-])([a-z]{2,3}_[a-z]{2})(?:$|[.-])")
"""Matches `prompts_en_us.csv` and sector files such as `prompts_en_us--healthcare.csv`."""
QUOTED = re.compile(r'"([^"]{1,60})"')


def read_table(
    text: str, path: Path, concerns: Mapping[str, str], language: str | None = None
) -> tuple[tuple[Template, ...], list[Problem]]:
    """The valid templates of a library file, and every error with its line."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    header = [name.strip() for name in next(rows, [])]
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        return (), [_no_table(path, missing)]
    source = _Source(path, _language(path, language), concerns)
    templates: dict[str, Template] = {}
    mistakes: list[Problem] = []
    for line, row in _rows(rows, path, mistakes):
        try:
            template = _template(_cells(header, row), source, line)
        except UserError as wrong:
            mistakes.extend(Problem(m.what, place(path, line), m.remedy) for m in wrong.mistakes)
            continue
        if template.id in templates:
            mistakes.append(_numbered_twice(templates[template.id], path, line))
        templates.setdefault(template.id, template)
    return tuple(templates.values()), mistakes


@dataclass(frozen=True, slots=True)
class _Source:
    """Data shared by all rows of a table."""

    path: Path
    language: str
    concerns: Mapping[str, str]


def _no_table(path: Path, missing: list[str]) -> Problem:
    return Problem(
        f"has no column `{'`, `'.join(missing)}`",
        place(path, 1),
        f"a library is tab-separated with the columns {', '.join(COLUMNS)}",
    )


def _numbered_twice(first: Template, path: Path, line: int) -> Problem:
    return Problem(f"prompt_id `{first.id}` stands on line {first.line} too", place(path, line), "give it its own")


def _rows(rows: Any, path: Path, mistakes: list[Problem]) -> Iterator[tuple[int, list[str]]]:
    """Every non-blank row with its first line number."""
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            mistakes.append(Problem(f"cannot be read: {error}", place(path, line), "mend the quotes of this row"))
            return
        if row is None:
            return
        if any(value.strip() for value in row):
            yield line, row


def _cells(header: list[str], row: list[str]) -> dict[str, str]:
    cells = dict(zip(header, row, strict=False))
    if not set(COLUMNS) <= cells.keys():
        raise UserError(
            Problem(f"has {len(row)} columns, not {len(header)}", remedy="separate all columns with tabs")
        )
    return cells


def _language(path: Path, language: str | None) -> str:
    named = LANGUAGE_IN_NAME.search(path.stem.lower())
    if named:
        return named[1]
    if language:
        return language
    raise UserError(
        Problem(f"nothing says the language of `{path.name}`", str(path), "name it like prompts_en_us.csv")
    )


def _template(row: dict[str, str], source: _Source, line: int) -> Template:
    concern = row["concern"].strip().lower()
    oracle = _oracle(row)
    offered = tuple(QUOTED.findall(row["output_formatting"])) if oracle.type == "expected value" else ()
    try:
        return Template(
            id=row["prompt_id"].strip().lower(),
            language=source.language,
            concern=source.concerns.get(concern, concern),
            input=row["input_type"].strip().lower(),
            reflection=row["reflection_type"].strip().lower(),
            prefix=row["task_prefix"].strip(),
            prompt=row["prompt"].strip(),
            format=row["output_formatting"].strip(),
            answers=offered,
            oracle=oracle,
            reverse_keyed=_is_reverse_keyed(offered, oracle),
            source=(row.get("source") or "").strip(),
            library=str(source.path),
            file=str(source.path),
            line=line,
        )
    except ValidationError as error:
        raise UserError(_row_mistakes(error)) from error


def _is_reverse_keyed(offered: tuple[str, ...], oracle: Oracle) -> bool:
    """Whether agreeing passes and rejecting fails, inferred because the format has no column for it."""
    agrees, rejects = offered_yes_no(offered)
    return agrees is not None and rejects is not None and passes(agrees, oracle) and not passes(rejects, oracle)


_COLUMN_OF = {"id": "prompt_id", "input": "input_type", "reflection": "reflection_type"}


def _row_mistakes(error: ValidationError) -> list[Problem]:
    problems = [(problem, str(problem["loc"][0])) for problem in error.errors()]
    return [
        Problem(explain(problem, f"`{_COLUMN_OF.get(field, field)}`"), remedy=remedy(problem, Template))
        for problem, field in problems
    ]


def _oracle(row: dict[str, str]) -> Oracle:
    kind = row["oracle"].strip().lower()
    if kind not in ORACLES:
        raise UserError(Problem(f"oracle `{kind}` is unknown", remedy=nearest(kind, ORACLES)))
    prediction = _prediction(row["oracle_prediction"])
    operation = prediction.get("operation")
    if operation not in OPERATIONS:
        raise UserError(Problem(f"operation `{operation}` is unknown", remedy=nearest(str(operation), OPERATIONS)))
    if find_operation(operation).type != kind:
        raise UserError(Problem(f"operation `{operation}` does not go with oracle `{kind}`", remedy="change one"))
    expected = prediction.get("expected_value", ())
    try:
        return Oracle(
            operation=operation,
            expected=(expected,) if isinstance(expected, str) else expected,
            key=prediction.get("key"),
            match="start" if kind == "expected value" else None,
        )
    except ValidationError as error:
        raise UserError(
            Problem(
                f"oracle_prediction: {error.errors()[0]['msg'].removeprefix('Value error, ')}",
                remedy="add it",
            )
        ) from error


def _prediction(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply")
        raise UserError(
            Problem(f"oracle_prediction is not valid JSON: {reason}: `{text[:80]}`", remedy="mend the JSON")
        ) from error
    if not isinstance(value, dict):
        raise UserError(Problem(f"oracle_prediction is no JSON object: `{text[:80]}`", remedy="write an object"))
    return value
