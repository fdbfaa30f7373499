"""`catalog import`: files of other formats into a directory of ours, all of it or nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from biasgrid.catalogs.errors import Problem, UserError, nearest, position
from biasgrid.catalogs.importers import interactions
from biasgrid.catalogs.importers.bbq import bbq
from biasgrid.catalogs.importers.formats import BENCHMARKS, FORMATS, Importer, looks_like
from biasgrid.catalogs.importers.langbite import as_yaml
from biasgrid.catalogs.importers.langbite import template_files as langbite_files
from biasgrid.catalogs.importers.result import Imported, NotTheFormat, RecordedReply, slug
from biasgrid.catalogs.loading.catalog import OVERLAY
from biasgrid.catalogs.loading.tables import read_table
from biasgrid.catalogs.loading.template_files import template_line
from biasgrid.catalogs.loading.text_files import read_table_text
from biasgrid.catalogs.schema.base import LANGUAGE
from biasgrid.catalogs.text_safety import escape
from biasgrid.flows.catalog.catalog_files import catalog_files, scenario
from biasgrid.flows.terminal.console import console
from biasgrid.warehouse.storage.atomic_file import replace_atomically
from biasgrid.warehouse.storage.export_files import defuse_formulas


@dataclass(frozen=True, slots=True)
class Import:
    """What was read, file by file, and the files that were written, by what they hold."""

    read: tuple[Imported, ...]
    written: Mapping[str, Path]


def import_files(
    format_name: str,
    files: Sequence[Path],
    out: Path,
    language: str = "en_us",
    *,
    force: bool = False,
    genders: Path | None = None,
) -> Import:
    """Reads the files and writes the result into `out`; `genders`: a table of the people in scenes. Raises
    UserError."""
    _check_language(language)
    importer = _importer(format_name, files) if genders is None else _with_genders(format_name, genders)
    sources = [file for file in files if not _is_metadata(format_name, file)]
    read = _unlike_each_other([_read(importer, format_name, file, language) for file in sources])
    if not read or all(one.is_empty for one in read):
        raise UserError(_nothing(read))
    name = slug(sources[0].stem if len(sources) == 1 else format_name) or format_name
    contents = {
        path: content for path, content in _contents(format_name, name, out, read).items() if content is not None
    }
    if not force:
        _refuse_overwriting(contents)
    for path, content in contents.items():
        _write(path, content)
    if force and out / f"{name}.refused.csv" not in contents:  # of an earlier import
        (out / f"{name}.refused.csv").unlink(missing_ok=True)
    return Import(tuple(read), {path.relative_to(out).as_posix(): path for path in contents})


def _check_language(language: str) -> None:
    if not re.match(LANGUAGE, language):
        what = f"`{language}` is no language tag"
        raise UserError(Problem(what, "--language", "write language and country, such as `en_us`"))


def _importer(format_name: str, files: Sequence[Path]) -> Importer:
    importer = FORMATS.get(format_name)
    if importer is None:
        raise UserError(Problem(f"format `{format_name}` is unknown", remedy=nearest(format_name, FORMATS)))
    targets: dict[tuple[str, str], int] = {}
    for file in (file for file in files if _is_metadata(format_name, file)):
        targets |= bbq.read_targets(read_table_text(file), str(file))
    return partial(bbq.read, targets=targets) if targets else importer


def _with_genders(format_name: str, path: Path) -> Importer:
    if format_name != "interactions":
        raise UserError(Problem("means something for `interactions` alone", "--genders", "leave it out"))
    return partial(interactions.read, stated=interactions.read_genders(read_table_text(path), str(path)))


def _is_metadata(format_name: str, file: Path) -> bool:
    """BBQ's items are JSON lines: a table with them is its additional metadata."""
    if format_name != "bbq" or file.suffix.lower() != ".csv":
        return False
    return set(bbq.METADATA) <= set(read_table(read_table_text(file), str(file)).header)


def _read(importer: Importer, format_name: str, file: Path, language: str) -> Imported:
    text = read_table_text(file)
    try:
        return importer(text, str(file), language)
    except NotTheFormat as wrong:
        other = looks_like(text)
        if other is None or other == format_name:
            raise
        problems = [replace(one, remedy=f"it looks like `{other}`: name that format") for one in wrong.mistakes]
        raise UserError(problems) from wrong


def _unlike_each_other(read: Iterable[Imported]) -> list[Imported]:
    """The files without templates whose id a file before them has: those are refused."""
    seen: dict[tuple[str, str], str] = {}
    kept = []
    for one in read:
        doubles = [t for t in one.templates if (t.language, t.id) in seen]
        wrong = [Problem(f"`{t.id}` stands in {seen[t.language, t.id]} too", one.file) for t in doubles]
        own = tuple(t for t in one.templates if (t.language, t.id) not in seen)
        seen |= {(t.language, t.id): one.file for t in own}
        refused, lost = (*one.refused, *wrong), one.lost + len(wrong)
        kept.append(replace(one, templates=own, refused=refused, lost=lost))
    return kept


def _nothing(read: Sequence[Imported]) -> list[Problem]:
    if not read:
        return [Problem("no file holds items", remedy="name the files of items next to the metadata")]
    refused = [mistake for one in read for mistake in one.refused]
    empty = [Problem("holds nothing to import", one.file, "name another file") for one in read if not one.rows]
    return [*empty, *refused]


Content = str | pl.DataFrame
"""A text, or rows: of Parquet or CSV, by the file's name."""


def _contents(format_name: str, name: str, out: Path, read: Sequence[Imported]) -> dict[Path, Content | None]:
    templates = tuple(template for one in read for template in one.templates)
    contents: dict[Path, Content | None] = {}
    if format_name in BENCHMARKS:
        lines = "".join(f"{template_line(template)}\n" for template in templates)
        document = scenario(format_name, name, templates, f"{name}.jsonl")
        contents = {out / f"{name}.jsonl": lines, out / f"{name}.scenario.yaml": as_yaml(document)}
        contents |= _languages({template.language for template in templates}, out)
    elif format_name == "langbite":
        contents = dict(_langbite(name, out, read))
    elif format_name == "interactions":
        contents = {out / path: text for path, text in catalog_files(name, read).items()}
        inferred = _inferred_genders(read)
        contents[out / f"{name}.genders.csv"] = inferred if inferred.height else None
    elif replies := [reply for one in read for reply in one.replies]:
        contents = {out / f"{name}.parquet": _as_recording(replies)}
    refused = _refused_rows(read)
    return contents | {out / f"{name}.refused.csv": refused if refused.height else None}


def _languages(spoken: Iterable[str], out: Path) -> dict[Path, str]:
    """Files of languages that no catalog has, where lettered answers are all that is asked for."""
    named = os.environ.get(OVERLAY)
    roots = [out, *([Path(named)] if named else [])]
    shipped = resources.files("biasgrid.catalogs.importers") / "languages"
    return {
        out / LANGUAGES / file: (shipped / file).read_text(encoding="utf-8")
        for file in (f"{language}.yaml" for language in sorted(spoken))
        if (shipped / file).is_file() and not any((root / LANGUAGES / file).exists() for root in roots)
    }


def _inferred_genders(read: Sequence[Imported]) -> pl.DataFrame:
    """The sheet of people whose gender was inferred, to be confirmed and given to `--genders`."""
    rows = [
        (scene.id, person.name, "M" if person.group == "men" else "F", "half of the people are of each", None)
        for one in read
        for scene in one.scenes
        for person in scene.characters
        if person.inferred
    ]
    columns = ("scene", "name", "gender", "because", "confirmed")
    return defuse_formulas(pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row"))


def _langbite(name: str, out: Path, read: Sequence[Imported]) -> dict[Path, Content]:
    """The library as YAML files, and each scenario, which asks that library if one was given with it."""
    templates = tuple(template for one in read for template in one.templates)
    contents: dict[Path, Content] = {
        out / "templates" / path: text for path, text in langbite_files(templates).items()
    }
    library = {"library": "templates"} if templates else {}
    for one in read:
        if one.scenario is not None:
            document: dict[str, Any] = {**one.scenario, "scenario": {**one.scenario["scenario"], **library}}
            contents[out / f"{slug(Path(one.file).stem) or name}.scenario.yaml"] = as_yaml(document)
    return contents


def _as_recording(replies: Sequence[RecordedReply]) -> pl.DataFrame:
    """What `replay/<file>` reads; columns that no reply has are left out."""
    columns = {
        name: [getattr(reply, name) for reply in replies] for name in (one.name for one in fields(RecordedReply))
    }
    return pl.DataFrame({name: values for name, values in columns.items() if any(v is not None for v in values)})


def _refused_rows(read: Sequence[Imported]) -> pl.DataFrame:
    rows = [(*position(mistake), mistake.what) for one in read for mistake in one.refused]
    schema = {"file": pl.String, "line": pl.Int64, "reason": pl.String}
    return defuse_formulas(pl.DataFrame(rows, schema=schema, orient="row"))


def _refuse_overwriting(contents: Mapping[Path, Content]) -> None:
    there = [path for path in contents if path.exists()]
    if there:
        raise UserError(
            Problem("exists already", str(path), "name another `--out`, or replace it with `--force`")
            for path in there
        )


def _write(path: Path, content: Content) -> None:
    try:
        with replace_atomically(path) as partial:
            if isinstance(content, str):
                partial.write_text(content, encoding="utf-8", newline="")
            elif path.suffix == ".parquet":
                content.write_parquet(partial)
            else:
                content.write_csv(partial)
    except OSError as error:
        what = f"cannot be written: {error.strerror or error}"
        raise UserError(Problem(what, str(path), "name a directory that you may write to")) from error


SHOWN = 20
"""Refused rows shown on the terminal; the file has all."""
CATALOG = ("scenes/", "tuning/")
"""Folders whose files are read as a catalog's."""
LANGUAGES = "languages"
"""Folder of a catalog's languages, which a scenario next to it needs."""


def show_import(done: Import) -> None:
    out = console()
    read_table = Table(box=None, pad_edge=False, header_style="bold")
    read_table.add_column("file", overflow="fold")
    for heading in ("rows read", "imported", "refused"):
        read_table.add_column(heading, justify="right", no_wrap=True)
    for one in done.read:
        read_table.add_row(_plain(one.file), *(Text(f"{n:,}") for n in (one.rows, one.rows - one.lost, one.lost)))
    out.print(read_table)
    _show_refused(done)
    for notice in [notice for one in done.read for notice in one.notices][:SHOWN]:
        out.print(_plain(notice), soft_wrap=True)
    for path in done.written.values():
        out.print(Text(f"wrote {path}"), soft_wrap=True)
    for line in dict.fromkeys(_next(done)):
        out.print(Text(line), soft_wrap=True)


def _next(done: Import) -> Iterator[str]:
    """What to do with each file."""
    for name, path in done.written.items():
        if path.name.endswith(".scenario.yaml"):
            needs = f"{OVERLAY}={path.parent} " if (path.parent / LANGUAGES).is_dir() else ""
            yield f"run it: {needs}biasgrid run {path}"
        elif path.name.endswith(".genders.csv"):
            yield f"write `yes` under `confirmed` in {path}, then import again with --genders {path} --force"
        elif path.suffix == ".parquet":
            yield f"play it back: --model replay/{path}"
        elif name.startswith(CATALOG):
            yield f"query it: name it as your catalog, {OVERLAY}={path.parent.parent}"


def _show_refused(done: Import) -> None:
    out = console()
    refused = [mistake for one in done.read for mistake in one.refused]
    for mistake in refused[:SHOWN]:
        out.print(_plain(f"{mistake.where}: {mistake.what}"), soft_wrap=True)
    if len(refused) > SHOWN:
        where = next((path for name, path in done.written.items() if name.endswith(".refused.csv")), "")
        out.print(Text(f"… and {len(refused) - SHOWN:,} more in {where}"), soft_wrap=True)


def _plain(text: str) -> Text:
    """A text of a file of others, with nothing in it that steers a terminal."""
    return Text(escape(text))
