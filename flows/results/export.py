"""Files for other programs: a model of the warehouse, or the lake's tables as views."""

from __future__ import annotations

from pathlib import Path

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.runs.prepare import existing_lake
from biasgrid.tasks.aggregate.export import SUFFIX, Kind, write_model
from biasgrid.warehouse.queries.lineage import as_script
from biasgrid.warehouse.storage.export_files import write_text
from biasgrid.warehouse.storage.runs import find


def export(
    model: str,
    kind: Kind,
    run: str | None = None,
    out: Path | None = None,
    data: str | Path | None = None,
    *,
    force: bool = False,
) -> tuple[Path, int]:
    """Writes a mart or staging model, of all runs or of one; returns the file and how many rows it holds.

    The file is `<model>.<csv, parquet or jsonl>` in the working directory unless one is named. Raises UserError
    for an unknown model or run, and for a file that exists, unless it is to be replaced (`force`).
    """
    lake = existing_lake(data)
    run_id = find(lake, run).run_id if run else None
    path = out or Path(f"{_file_name(model, run_id)}.{SUFFIX[kind]}")
    refuse_to_replace(path, force=force)
    return path, write_model(lake, model, kind, path, run_id)


def write_views(out: Path | None, data: str | Path | None = None, *, force: bool = False) -> str:
    """The lake's tables as views, in SQL; written to `out` where one is named. Raises UserError where nothing
    has landed, and for a file that exists, unless it is to be replaced."""
    lake = existing_lake(data)
    if not lake.runs():
        what = f"nothing has landed in `{lake.named}`"
        raise UserError(Problem(what, "--data", "run a scenario first, or name where its data lies"))
    if out is None:
        return as_script(lake)
    refuse_to_replace(out, force=force)
    script = as_script(lake, out.name)
    write_text(out, script)
    return script


def refuse_to_replace(path: Path, *, force: bool, option: str = "--out") -> None:
    """Raises UserError where a file or folder stands already; a folder is never replaced. `option` named it."""
    if path.is_dir():
        raise UserError(Problem(f"`{path}` is a directory", option, "name a file in it"))
    if path.exists() and not force:
        remedy = "name another file, or replace this one with --force"
        raise UserError(Problem(f"`{path}` exists already", option, remedy))


def _file_name(model: str, run_id: str | None) -> str:
    name = model.rpartition(".")[2]
    return f"{run_id}_{name}" if run_id else name
