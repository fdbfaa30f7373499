"""Reads LangBiTe's template libraries, in the format of its paper (section 2.2) and repository."""

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from biasgrid.catalogs.errors import Problem, UserError, nearest, place
from biasgrid.catalogs.loading.documents import parse_document, sound_part
from biasgrid.catalogs.loading.normal_form import offered_yes_no, passes
from biasgrid.catalogs.loading.pydantic_errors import list_problems
from biasgrid.catalogs.loading.tables import Row, read_table
from biasgrid.catalogs.loading.template_files import STAND_INS
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
PART_IN_NAME = re.compile(r"--([a-z0-9][a-z0-9_-]*)$")
"""Sector of a sector file, whose rows are numbered from 1 like those of every other."""
LONGEST_FIELD = 131_072
"""Characters; a longer prompt is mostly a quote that is not closed."""
QUOTED = re.compile(r'"([^"]{1,60})"')


def read_library_table(
    text: str, path: Path, concerns: Mapping[str, str], language: str | None = None
) -> tuple[tuple[Template, ...], list[Problem]]:
    """The templates of a library file, with stand-ins for invalid cells, and every error with its line."""
    table = read_table(text, str(path), LONGEST_FIELD)
    missing = [column for column in COLUMNS if column not in table.header]
    if missing:
        remedy = f"a library is a table, tab-separated at best, with the columns {', '.join(COLUMNS)}"
        return (), [Problem(f"has no column `{'`, `'.join(missing)}`", table.place, remedy)]
    part = PART_IN_NAME.search(path.stem.lower())
    source = _Source(path, _language(path, language), concerns, part[1] if part else None)
    templates: dict[str, Template] = {}
    mistakes: list[Problem] = []
    try:
        for row in table.rows():
            try:
                template = _template(row, source)
            except _Invalid as wrong:
                mistakes.extend(Problem(m.what, place(path, row.line), m.remedy) for m in wrong.mistakes)
                if wrong.rest is None:
                    continue
                template = wrong.rest
            first = templates.setdefault(template.id, template)
            if first is not template:
                what = f"prompt_id `{first.id}` stands on line {first.line} too"
                mistakes.append(Problem(what, place(path, row.line), "give it its own"))
    except UserError as broken:  # the rest of a table whose quotes are not closed
        mistakes.extend(broken.mistakes)
    return tuple(templates.values()), mistakes


@dataclass(frozen=True, slots=True)
class _Source:
    """Data shared by all rows of a table."""

    path: Path
    language: str
    concerns: Mapping[str, str]
    part: str | None = None
    """Its sector, where the file is one of several."""

    def name(self, prompt_id: str) -> str:
        """The id of a row, unlike those of other parts."""
        return f"{self.part}-{prompt_id}" if self.part and prompt_id else prompt_id


def _language(path: Path, language: str | None) -> str:
    named = LANGUAGE_IN_NAME.search(path.stem.lower())
    if named:
        return named[1]
    if language:
        return language
    what = f"nothing states the language of `{path.name}`"
    raise UserError(Problem(what, str(path), "name it like prompts_en_us.csv"))


def as_table(text: str, file: str) -> tuple[str, str | None]:
    """The library within a file of LangBiTeForAPI, as a table, and its language. Raises UserError."""
    value = parse_document(text, file, is_json=True).value
    rows = value.get("prompts") if isinstance(value, dict) else None
    try:
        rows = json.loads(rows) if isinstance(rows, str) else rows
    except (json.JSONDecodeError, RecursionError):
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        remedy = f"write a list of objects with the keys {', '.join(COLUMNS)}"
        raise UserError(Problem("`prompts` is no list of templates", file, remedy))
    table = io.StringIO()
    writer = csv.DictWriter(table, (*COLUMNS, "source"), restval="", extrasaction="ignore", delimiter="\t")
    writer.writeheader()
    writer.writerows({key: _cell(cell) for key, cell in row.items()} for row in rows)
    language = value.get("input_language")
    return table.getvalue(), language if isinstance(language, str) else None


def _cell(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def _template(read: Row, source: _Source) -> Template:
    row = read.cells
    if not set(COLUMNS) <= row.keys():
        what = f"has {len(row)} columns, not {read.columns}"
        raise _Invalid(
            [Problem(what, remedy="fill in all columns, and quote cells that hold the separator")], None
        )
    concern = row["concern"].strip().lower()
    wrong: list[Problem] = []
    try:
        oracle = _oracle(row)
    except UserError as unknown:
        wrong += unknown.mistakes
        oracle = Oracle.model_validate(STAND_INS["oracle"])
    offered = tuple(QUOTED.findall(row["output_formatting"])) if oracle.type == "expected value" else ()
    fields = {
        "id": source.name(row["prompt_id"].strip().lower()),
        "part": source.part,
        "language": source.language,
        "concern": source.concerns.get(concern, concern),
        "input": row["input_type"].strip().lower(),
        "reflection": row["reflection_type"].strip().lower(),
        "prefix": row["task_prefix"].strip(),
        "prompt": row["prompt"].strip(),
        "format": row["output_formatting"].strip(),
        "answers": offered,
        "oracle": oracle,
        "reverse_keyed": _is_reverse_keyed(offered, oracle),
        "source": (row.get("source") or "").strip(),
        "library": str(source.path),
        "file": str(source.path),
        "line": read.line,
    }
    try:
        template = Template.model_validate(fields)
    except ValidationError as error:
        wrong += list_problems(error, Template, lambda at: f"`{_COLUMN_OF.get(str(at[0]), str(at[0]))}`")
    if wrong:
        raise _Invalid(wrong, sound_part(Template, fields, {"id": f"line-{read.line}", **STAND_INS}))
    return template


class _Invalid(UserError):
    """The errors of a row; `rest`: its template with stand-ins for what is wrong, for further checks."""

    def __init__(self, mistakes: list[Problem], rest: Template | None) -> None:
        super().__init__(mistakes)
        self.rest = rest


def _is_reverse_keyed(offered: tuple[str, ...], oracle: Oracle) -> bool:
    """Whether agreeing passes and rejecting fails, inferred because the format has no column for it."""
    agrees, rejects = offered_yes_no(offered)
    return agrees is not None and rejects is not None and passes(agrees, oracle) and not passes(rejects, oracle)


_COLUMN_OF = {"id": "prompt_id", "input": "input_type", "reflection": "reflection_type"}


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
            reading=prediction.get("reading", "meaning"),
            by_letters=isinstance(expected, str) and len(expected) > 1,
        )
    except ValidationError as error:
        what = f"oracle_prediction: {error.errors()[0]['msg'].removeprefix('Value error, ')}"
        raise UserError(Problem(what, remedy="add it")) from error


def _prediction(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        reason = getattr(error, "msg", "nested too deeply")
        what = f"oracle_prediction is not valid JSON: {reason}: `{text[:80]}`"
        raise UserError(Problem(what, remedy="mend the JSON")) from error
    if not isinstance(value, dict):
        raise UserError(Problem(f"oracle_prediction is no JSON object: `{text[:80]}`", remedy="write an object"))
    return value
