"""`catalog`: what can be asked, how sound it is and what it covers; `import`: what other tools have asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from biasgrid.catalogs.choices import Gate
from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.cli.augment import accept, augment
from biasgrid.flows.runs.options import Options, RunOptions, command, option, replace_option, same

if TYPE_CHECKING:
    from biasgrid.catalogs.logs.settings import LogImport

validate = typer.Typer(
    help="Let two people judge the assignments that models are tuned on, blind.", no_args_is_help=True
)


class AgreementFormat(StrEnum):
    table, json = "table", "json"


@validate.command()
def sheets(
    out: Annotated[Path, typer.Option("--out", help="Directory to write into.", show_default=False)],
    sections: Annotated[int, typer.Option("--sections", min=1, max=50, help="Into how many parts.")] = 4,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Draws people, sections and orders.")] = 7,
    language: Annotated[str, typer.Option("--language", help="Of the assignments.")] = "en_us",
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
) -> None:
    """Write the sheets: per section and person one that asks whether bias is present, with no label and in an
    order of its own, and one with the reasons, to be opened once the first is done.

    Example: `biasgrid catalog validate sheets --out sheets`
    """
    from biasgrid.flows.review.agreement import write_sheets

    for path in write_sheets(out, language, seed, sections, force=force):
        typer.echo(f"wrote {path}")
    typer.echo("fill in `presence` (present or absent), then `reason_ok` (yes or no); then:")
    typer.echo(f"biasgrid catalog validate agreement {out}/*.csv")


@validate.command()
def agreement(
    files: Annotated[list[Path], typer.Argument(help="Sheets that were filled in.", show_default=False)],
    format: Annotated[  # noqa: A002
        AgreementFormat, typer.Option("--format", help="How to show it.")
    ] = AgreementFormat.table,
) -> None:
    """How far two people agree with each other and with the labels: percent agreement, Cohen's κ and Gwet's AC1,
    over all and per section.

    Example: `biasgrid catalog validate agreement sheets/first.csv sheets/second.csv`
    """
    from biasgrid.flows.review.agreement import agreement as compared
    from biasgrid.flows.review.agreement import as_json, show

    found = compared(files)
    if format == AgreementFormat.json:
        typer.echo(as_json(found))
    else:
        show(found)


app = typer.Typer(help="What can be asked.", no_args_is_help=True)


class CheckFormat(StrEnum):
    text, json = "text", "json"


class StatsFormat(StrEnum):
    table, csv, json = "table", "csv", "json"


class ImportFormat(StrEnum):
    langbite, bbq, esbbq, kobbq = "langbite", "bbq", "esbbq", "kobbq"
    iat, responses = "iat", "responses"
    interactions, assignments = "interactions", "assignments"
    crows_pairs, stereoset = "crows-pairs", "stereoset"
    winobias, winogender = "winobias", "winogender"


@app.callback()
def catalog() -> None:
    """What can be asked."""


@app.command()
def check(
    library: Annotated[
        str | None,
        typer.Option("--library", help="Templates to check: a file or directory, LangBiTe's format included."),
    ] = None,
    language: Annotated[
        str | None, typer.Option("--language", help="Of a table whose name does not say, such as `es_es`.")
    ] = None,
    format: Annotated[CheckFormat, typer.Option("--format", help="How to show it.")] = CheckFormat.text,  # noqa: A002
) -> None:
    """Check the shipped catalogs, those of `BIASGRID_CATALOG`, or a library of templates: every finding with its
    file and line.

    Exit codes: 0 no error (warnings are shown), 2 at least one error.

    Example: `biasgrid catalog check --library my-library`
    """
    from biasgrid.catalogs.lint.check import lint

    if library is not None and not library.strip():
        remedy = "name a file or directory of templates, or leave the option out"
        raise UserError(Problem("no library is named", "--library", remedy))
    found = lint(library or "shipped", language=language)
    if format == CheckFormat.json:
        typer.echo(found.as_json())
    else:
        for finding in found.findings:
            typer.echo(str(finding))
        typer.echo(found.summary)
    if found.errors:
        raise typer.Exit(2)


@app.command()
def stats(
    library: Annotated[
        str,
        typer.Option("--library", help="Templates to look at: a file or directory, LangBiTe's format included."),
    ] = "shipped",
    format: Annotated[StatsFormat, typer.Option("--format", help="How to show it.")] = StatsFormat.table,  # noqa: A002
    concern: Annotated[list[str] | None, typer.Option("--concern", help="Of this alone; may be repeated.")] = None,
    language: Annotated[
        list[str] | None, typer.Option("--language", help="Of this alone, such as `en_us`; may be repeated.")
    ] = None,
    tolerance: Annotated[float, typer.Option("--tolerance", help="What is to be decided: a share, 0–1.")] = 0.9,
) -> None:
    """What a library covers, per language, concern, input and reflection: templates and instances, what constant
    answers pass, and what can be decided with so many.

    Example: `biasgrid catalog stats --library my-library`
    """
    from biasgrid.flows.catalog.coverage_view import stats as shown

    shown(library, format.value, concern or (), language or (), tolerance)


@dataclass(frozen=True, kw_only=True)
class ImportOptions(Options):
    """What may be given with files of other formats."""

    format: ImportFormat = option(None, "", "What the files are.", cli=ImportFormat, read=same)
    files: list[Path] = option(None, "", "One or several files of it.", cli=list[Path], read=same)
    out: Path | None = option(None, "--out", "Directory to write into; not of assignments.", read=same)
    language: str = option("en_us", "--language", "What the files are in.")
    force: bool = option(False, "--force", "Replace files that exist.")
    genders: Path | None = option(
        None,
        "--genders",
        "Of people in scenes: a table with `name` and `gender`, or a sheet whose rows you confirmed.",
        read=same,
    )
    scenes: Path | None = option(
        None, "--scenes", "Of assignments: the table of their scenes; else the catalog's.", read=same
    )
    data: str | None = option(None, "--data", "Of assignments: where the run is stored.")


@app.command(name="import")
@command(ImportOptions, "format files out language force genders scenes data", format=..., files=...)
def import_(given: ImportOptions) -> None:
    """Bring in benchmarks and replies of others: a library and a scenario ready to run, a recording that
    `replay/FILE` plays back, a catalog of scenes and texts to tune on, or `assignments` as a run: what anybody's
    agents assigned, scored as interactions are. Rows that cannot be brought over are listed with their reason.

    Example: `biasgrid catalog import bbq Gender_identity.jsonl --out my-library`
    """
    from biasgrid.flows.catalog.importer import import_files, show_import

    if given.format is ImportFormat.assignments:
        _import_assignments(given)
    if given.out is None:
        raise UserError(Problem("is needed", "--out", "name a directory to write into"))
    show_import(
        import_files(
            given.format.value, given.files, given.out, given.language, force=given.force, genders=given.genders
        )
    )


def _import_assignments(given: ImportOptions) -> NoReturn:
    from biasgrid.flows.catalog.assignment_import import import_assignments
    from biasgrid.flows.cli.running import remove_new_directories
    from biasgrid.flows.interaction.kind import INTERACTION
    from biasgrid.flows.results.show import patience, show_first_screen
    from biasgrid.flows.runs.prepare import open_lake

    with remove_new_directories(given.data), patience("reading assignments"):
        lake = open_lake(given.data)
        found = import_assignments(
            lake, given.files, scenes=given.scenes, genders=given.genders, language=given.language
        )
    typer.echo(f"{found.replies:,} replies, {found.lost:,} refused", err=True)
    for problem in found.refused:
        typer.echo(f"refused: {problem.where}: {problem.what}", err=True)
    show_first_screen(lake, INTERACTION, found.outcome, "point")
    raise typer.Exit(found.outcome.exit_code_by("point"))


app.command()(augment)
app.command()(accept)
app.add_typer(validate, name="validate")

imports = typer.Typer(help="Bring in what other tools have asked and scored.", no_args_is_help=True)


@imports.callback()
def import_group() -> None:
    """Bring in what other tools have asked and scored."""


def _field(what: str) -> Any:
    name = what.partition(":")[0]
    return option(None, f"--{name}-field", f"Where a record has {what.partition(': ')[2]}.", metavar="PATH")


@dataclass(frozen=True, kw_only=True)
class LogOptions(Options):
    """What may be given with logs."""

    files: list[Path] = option(None, "", "Logs, or directories of them.", cli=list[Path], read=same)
    tool: str | None = option(
        None,
        "--from",
        "inspect, lm-eval, helm, promptfoo, deepeval, openai-batch, anthropic-batch or jsonl; else by content.",
    )
    settings: Path | None = option(
        None,
        "--settings",
        "YAML with what else may be given here, and `requirements` of single concerns.",
        read=same,
    )
    name: str | None = option(None, "--name", "How the run is called; else as the file.")
    prompt: str | None = _field("prompt: what was asked")
    reply: str | None = _field("reply: the reply, such as `resps.0.0`")
    model: str | None = _field("model: the model")
    item: str | None = _field("item: the prompt's name")
    sample: str | None = _field("sample: the number of the repetition")
    score: str | None = _field("score: the score that decides")
    reason: str | None = _field("reason: why the score is what it is")
    concern_field: str | None = _field("concern: what the prompt is about")
    cluster: str | None = _field("cluster: what prompts that belong together share")
    language_field: str | None = _field("language: language and country, such as `en_us`")
    target: str | None = _field("target: the expected reply")
    error: str | None = _field("error: why there is no reply")
    scores: list[str] | None = option(
        None, "--score", "The score that decides, by name; several make a requirement each."
    )
    passes: str | None = option(None, "--passes", "Which scores pass, such as `>= 0.5`; else 1, true or C.")
    concern: str | None = option(None, "--concern", "What all samples are about.")
    language: str | None = option(None, "--language", "Of samples without one; else `en_us`.")
    tolerance: float | None = option(None, "--tolerance", "Least share that must pass, 0 to 1; else 0.9.")
    refusals: str | None = option(None, "--refusals", "What refusals count as: separate, fail or pass.")
    skip_broken: bool = option(False, "--skip-broken", "Leave out records that cannot be read, and list them.")
    data: str | None = replace_option(RunOptions, "data")
    gate: Gate = replace_option(RunOptions, "gate")


FIELD_OPTIONS = (
    *(
        "prompt",
        "reply",
        "model",
        "item",
        "sample",
        "score",
        "reason",
        "concern_field",
        "cluster",
        "language_field",
    ),
    *("target", "error"),
)
KEYS = {"tool": "from"}
"""Keys of settings that have another name than the option."""
VALUES = ("tool", "name", "scores", "passes", "concern", "language", "tolerance", "refusals")
WORDS = f"files {' '.join(VALUES)} {' '.join(FIELD_OPTIONS)} settings skip_broken data gate"


@imports.command(name="logs")
@command(LogOptions, WORDS, files=...)
def logs(given: LogOptions) -> None:
    """Bring in logs of inspect-ai, lm-eval, HELM, promptfoo, DeepEval, OpenAI batches or any JSON lines as a run.

    Nothing is sent. Scores become verdicts, and findings, comparisons, trends, reports and evidence work on them.
    Exit codes: 0 every requirement met, 1 at least one not met, 2 an error to correct, 3 incomplete.

    Example: `biasgrid import logs results.jsonl`
    """
    from biasgrid.flows.benchmark.kind import BENCHMARK
    from biasgrid.flows.catalog.log_import import import_logs
    from biasgrid.flows.cli.running import remove_new_directories
    from biasgrid.flows.results.show import patience, show_first_screen
    from biasgrid.flows.runs.prepare import open_lake

    settings = _settings(given)
    with remove_new_directories(given.data), patience("reading logs"):
        lake = open_lake(given.data)
        found = import_logs(lake, settings, given.files, skip_broken=given.skip_broken)
    typer.echo(
        f"{found.samples:,} samples of {found.files:,} file{'s'[: found.files > 1]}, read as {found.format}",
        err=True,
    )
    if found.beyond:
        typer.echo(f"left out: {found.beyond:,} records that have other scores alone", err=True)
    for broken in found.broken:
        typer.echo(f"left out: {broken.where}: {broken.what}", err=True)
    show_first_screen(lake, BENCHMARK, found.outcome, given.gate)
    raise typer.Exit(found.outcome.exit_code_by(given.gate))


def _settings(given: LogOptions) -> LogImport:
    """The file of settings with the options in place of its values. Raises UserError."""
    from biasgrid.catalogs.loading.documents import parse_document, read_document, validate
    from biasgrid.catalogs.logs.settings import LogImport

    document = read_document(given.settings) if given.settings else parse_document("{}", "")
    if not isinstance(document.value, dict):
        what, remedy = "is no mapping of settings", "write `tolerance: 0.9` and the like"
        raise UserError(Problem(what, str(given.settings), remedy))
    options = {KEYS.get(name, name): value for name, value in given.pick(*VALUES).items()}
    flags: dict[tuple[str | int, ...], str] = {
        (key,): f"--{'score' if key == 'scores' else key}" for key in options
    }
    fields = {name.removesuffix("_field"): path for name, path in given.pick(*FIELD_OPTIONS).items()}
    own = document.value.get("fields")
    merged = {"fields": {**(own if isinstance(own, dict) else {}), **fields}} if fields else {}
    return validate(LogImport, replace(document, value=document.value | options | merged, given=flags))
