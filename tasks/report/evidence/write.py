"""Writes a run's bundle: every file is staged, listed with its hash, and stored in a zip of one form."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import IO, Any

import duckdb
import orjson
import polars as pl

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.tasks.report.evidence.coverage import ENDED, Coverage, coverage
from biasgrid.tasks.report.evidence.manifest import (
    BUNDLE_SCHEMA,
    MANIFEST,
    SUMS,
    About,
    Content,
    Manifest,
    Member,
    Role,
    Stored,
    Versions,
    content,
    content_of,
    layout,
    manifest_of,
    pieces,
)
from biasgrid.tasks.report.evidence.record import write_record_markdown, write_record_page
from biasgrid.tasks.report.evidence.sources import (
    catalog_files,
    criteria_of,
    hide_scenario_hash,
    write_catalogs,
    write_marts,
    write_recomputation,
    write_records,
    write_scenario,
)
from biasgrid.tasks.report.kinds.report_kind import report_kind
from biasgrid.tasks.report.languages import LANGUAGES
from biasgrid.warehouse.build.build import connect, fetch_rows, run_row
from biasgrid.warehouse.build.sql_quoting import literal
from biasgrid.warehouse.schemas import KINDS, SCHEMA_VERSION, TABLES
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.export_files import report_write_errors
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.verification import refuse_damaged

PACKAGES = ("catalogs", "flows", "tasks", "warehouse")
LOCK = Path(str(resources.files("biasgrid.tasks"))).resolve().parent / "requirements.lock"
SUFFIXES = frozenset({".py", ".sql", ".yml", ".yaml", ".json", ".j2", ".css", ".js"})


def write_environment(run: Mapping[str, Any], criteria: pl.DataFrame, folder: Path) -> None:
    """Writes recorded and installed versions, the lock, and a hash of biasgrid's files; no variables."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"run": orjson.loads(run["versions"] or "{}"), "evaluations": _evaluations(criteria)}
    (folder / "recorded.json").write_bytes(_json(content))
    (folder / "installed.txt").write_text("".join(f"{line}\n" for line in list_installed()), encoding="utf-8")
    if LOCK.is_file():
        (folder / LOCK.name).write_bytes(LOCK.read_bytes())
    code = {"biasgrid": metadata.version("biasgrid"), "sha256_of_files": code_digest()}
    (folder / "code.json").write_bytes(_json(code))


def _evaluations(criteria: pl.DataFrame) -> dict[str, Any]:
    rows = criteria.select("evaluation_id", "versions").unique(maintain_order=True).rows()
    return {evaluation: orjson.loads(versions or "{}") for evaluation, versions in rows}


def list_installed() -> list[str]:
    """`name==version` of every distribution, by name."""
    content = (one.metadata for one in metadata.distributions())
    found = {str(own["Name"]).lower(): own["Version"] for own in content if own["Name"]}
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def code_digest() -> str:
    """SHA-256 of the sums of biasgrid's own files, in order of their names."""
    return hashlib.sha256("".join(_sums()).encode()).hexdigest()


def _sums() -> Iterator[str]:
    for package in PACKAGES:
        root = Path(str(resources.files(f"biasgrid.{package}")))
        files = [path for path in root.rglob("*") if path.suffix in SUFFIXES and path.is_file()]
        for path in sorted(files, key=lambda path: path.relative_to(root).as_posix()):
            name = f"{package}/{path.relative_to(root).as_posix()}"
            yield f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n"


def _json(content: object) -> bytes:
    form = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(content, default=float, option=form)  # decimals as numbers


def record_findings(warehouse: duckdb.DuckDBPyConnection, run_id: str, kind: str) -> list[dict[str, Any]]:
    """Rows of `model`, `what`, `language`, `measure`, `value`, `low`, `high`, `against`, `finding`, `by_point`;
    of probes, `worst_group` and its `worst_rate` where groups differ."""
    return fetch_rows(warehouse, findings_query(kind), [run_id]).to_dicts()


def findings_query(kind: str) -> str:
    """The SELECT of `record_findings`, with `$1` for the run."""
    return f"{report_kind(kind).findings} order by model, what, language"


SUFFIX = ".evidence.zip"
Pages = Callable[[Lake, str, Path], list[Path]]
"""Writes a run's pages into a folder."""
ROLES: Mapping[str, Role] = {
    "scenario": "scenario",
    "catalogs": "catalog",
    "environment": "environment",
    "marts": "mart",
    "records": "record",
    "recompute": "recompute",
    "report": "report",
}
"""By folder; files in none belong to the coverage record."""


def write_evidence(
    lake: Lake,
    run_id: str,
    out: Path,
    pages: Pages | None = None,
    language: str = LANGUAGES[0],
    *,
    texts: bool = True,
) -> list[Path]:
    """Writes `<run_id>.evidence.zip`, the same bytes each time; without `texts`, hashes stand for those of prompts
    and replies. Raises UserError for an unknown or stale run, LakeDamaged if a file of it does not have the bytes
    that were written."""
    row = run_row(lake, run_id)
    refuse_damaged(lake, [file for table in TABLES for file in lake.files(table, run_id)])
    _refuse_stale(lake, run_id, row["state"])
    run = row | {"kind": row["kind"] or KINDS[0]}
    target = out / f"{run_id}{'' if language == LANGUAGES[0] else f'.{language}'}{SUFFIX}"
    with report_write_errors(out, "the bundle"), tempfile.TemporaryDirectory(prefix="biasgrid-") as folder:
        stage = Path(folder)
        sources = _stage(lake, run, stage, pages, language, texts=texts)
        _write_zip(target, stage, lambda contents: _manifest(run, contents, sources, language))
    return [target]


def _refuse_stale(lake: Lake, run_id: str, state: object) -> None:
    """Marts of an older state of the run than its records would be no evidence of it."""
    landed = lake.newest("runs", run_id)["state"].item()
    if (ENDED if landed == "aggregating" else landed) != state:
        what = f"the warehouse has run `{run_id}` as {state}, and the lake has it as {landed}"
        remedy = "build the warehouse first: `biasgrid warehouse build`"
        raise UserError(Problem(what, str(lake.display_path(lake.database)), remedy))


def _stage(
    lake: Lake, run: Mapping[str, Any], stage: Path, pages: Pages | None, language: str, *, texts: bool
) -> dict[str, str]:
    """Writes all but manifest and sums; returns what the run called those files that bear another name."""
    run_id = str(run["run_id"])
    criteria = criteria_of(lake, run_id)
    catalogs = catalog_files(run, criteria)
    write_scenario(run, stage, texts=texts)
    write_environment(run, criteria, stage / "environment")
    records = write_records(lake, run_id, stage / "records", texts=texts)
    with connect(lake, texts_of=run_id) as warehouse:
        marts = write_marts(warehouse, run_id, stage / "marts", None if texts else hide_scenario_hash(run))
        record = coverage(lake, warehouse, run, catalogs, language)
        findings = record_findings(warehouse, run_id, str(run["kind"]))
    asked = findings_query(str(run["kind"])).replace("$1", literal(run_id))
    write_recomputation(stage / "recompute", run_id, records, marts, asked)
    (stage / "recompute" / "findings.json").write_bytes(_json(findings))
    _write_record(record, findings, stage)
    if pages:
        pages(lake, run_id, stage / "report")
    return dict(write_catalogs(catalogs, stage))


def _write_record(record: Coverage, findings: list[dict[str, Any]], stage: Path) -> None:
    (stage / "coverage.json").write_bytes(record.as_json())
    write_record_markdown(stage / "coverage.md", record, findings)
    write_record_page(stage / "record.html", record, findings)


def _write_zip(target: Path, stage: Path, listed: Callable[[Mapping[str, Content]], Manifest]) -> None:
    paths = sorted(path.relative_to(stage).as_posix() for path in stage.rglob("*") if path.is_file())
    contents = {path: content_of(stage / path) for path in paths}
    manifest = listed(contents)
    made = {MANIFEST: manifest.text, SUMS: manifest.sums}
    contents |= {name: content(io.BytesIO(text)) for name, text in made.items()}
    order = [Stored(path, contents[path].size, contents[path].crc) for path in (*made, *paths)]
    with replace_atomically(target) as partial, partial.open("wb") as bundle:
        for part in layout(order, manifest.dated):
            for piece in _bytes(part.path, stage, made) if isinstance(part, Stored) else (part.content,):
                bundle.write(piece)


def _bytes(path: str, stage: Path, made: Mapping[str, bytes]) -> Iterator[bytes]:
    opened: IO[bytes] = io.BytesIO(made[path]) if path in made else (stage / path).open("rb")
    with opened as file:
        yield from pieces(file)


def _manifest(
    run: Mapping[str, Any], contents: Mapping[str, Content], sources: Mapping[str, str], language: str
) -> Manifest:
    about = About(
        run_id=str(run["run_id"]),
        kind=str(run["kind"]),
        state=str(run["state"]),
        started_at=_iso(run["started_at"]),
        ended_at=_iso(run["ended_at"]),
        seed=run["seed"],
    )
    versions = Versions(
        run=orjson.loads(run["versions"] or "{}").get("biasgrid"),
        bundle=metadata.version("biasgrid"),
        lake_schema=SCHEMA_VERSION,
        bundle_schema=BUNDLE_SCHEMA,
    )
    files = (
        Member(path=path, size=own.size, sha256=own.sha256, role=_role(path), source=sources.get(path))
        for path, own in contents.items()
    )
    return manifest_of(about, _date_of(run), versions, files, language, complete=run["state"] == ENDED)


def _role(path: str) -> Role:
    folder, _, rest = path.partition("/")
    return ROLES.get(folder, "coverage") if rest else "coverage"


def _date_of(run: Mapping[str, Any]) -> datetime:
    """When the run ended or last recorded something, in whole seconds as in a zip."""
    when = run["ended_at"] or run["recorded_at"] or run["started_at"] or datetime(1980, 1, 1, tzinfo=UTC)
    content: datetime = when.astimezone(UTC).replace(microsecond=0)
    return content


def _iso(when: datetime | None) -> str | None:
    return None if when is None else when.astimezone(UTC).isoformat()
