"""Commands that show, compare, trace, export and verify the results of runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.flows.cli.options import DATA, RUN_ID, Data, Force, RunId
from biasgrid.flows.results.report_formats import FORMATS
from biasgrid.flows.runs.options import Options, command, option, same
from biasgrid.tasks.aggregate.trace import Kind
from biasgrid.tasks.report.figures import format_count

if TYPE_CHECKING:
    ReportFormat = str
else:
    ReportFormat = StrEnum("ReportFormat", {name.replace("-", "_"): name for name in FORMATS})


class SqlFormat(StrEnum):
    table, csv, json = "table", "csv", "json"


class ExportFormat(StrEnum):
    csv, parquet, json = "csv", "parquet", "json"


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Options):
    """What `report` may be given."""

    run: str | None = RUN_ID
    all_runs: bool = option(False, "--all", "Pages of all runs.")
    format: str = option("html", "--format", "What to write.", cli=ReportFormat)
    out: Path | None = option(
        None, "--out", "Directory to write into.", show_default="reports/RUN or reports/all", read=same
    )
    language: Literal["en_us", "es_es"] = option(
        "en_us", "--language", "Of pages and evidence; a benchmark's page can change it."
    )
    gate: Literal["point", "decided"] = option(
        "point", "--gate", "With `junit` and `markdown`: what counts as failed, as of `run`."
    )
    texts: bool = option(
        False, "--texts", "With `evidence`: documents and replies about them as they are, not as hashes."
    )
    open_it: bool = option(False, "--open", "Open the pages in the browser.")
    data: str | None = DATA


@command(ReportOptions, "run all_runs format out language gate texts open_it data")
def report(given: ReportOptions) -> None:
    """Write what a run found as files: pages for the browser, `html`; `csv`, `json`, of a benchmark LangBiTe's
    three CSV files; `pictures` as SVG and PNG; for CI `junit` and `markdown`, a job's summary; `model-card`,
    results as Hugging Face's model cards have them; `every-eval-ever`, results in that schema; for auditors a
    bundle, `evidence`, which `biasgrid evidence verify` checks. Of all runs, `--all`, pages alone.

    Example: `biasgrid report --open`
    """
    from biasgrid.flows.results.report import write_all, write_report

    if given.all_runs:
        _refuse_besides_all(given)
        site = write_all(given.out, given.data, given.language)
        typer.echo(
            f"pages of {format_count(site.written, 'run')} written, of {site.kept:,} kept as they were", err=True
        )
        typer.echo(site.index)
        _open(site.index, wanted=given.open_it)
        return
    chosen = given.pick("out", "data", "language", "gate", "texts")
    written = write_report(given.run, given.format, **chosen)
    for path in written[:1] if given.format == "html" else written:
        typer.echo(path)
    if given.format == "html":
        typer.echo(f"to show it to others, send the folder {written[0].parent}: it needs no server", err=True)
        _open(written[0], wanted=given.open_it)


def _open(page: Path, *, wanted: bool) -> None:
    if wanted:
        import webbrowser

        if not webbrowser.open(page.absolute().as_uri()):
            typer.echo("no browser was found: open the page yourself", err=True)


def _refuse_besides_all(given: ReportOptions) -> None:
    if given.run is not None:
        what = "`--all` takes all runs, and a run is named"
        raise UserError(Problem(what, f"RUN {given.run}", "leave one of the two out"))
    if given.format != "html":
        remedy = "leave `--format` out; `biasgrid export MART` writes a mart of all runs"
        raise UserError(Problem(f"there is no {given.format} report of all runs", "--all", remedy))


def show(
    run: RunId = None,
    every: Annotated[bool, typer.Option("--all", help="Every finding, with bars by concern.")] = False,
    data: Data = None,
) -> None:
    """Show what a run found: the answer in words, a line for each model, the worst replies and the next commands.
    However it ended, the exit code is 0.

    Example: `biasgrid show --all`
    """
    from biasgrid.flows.results.show import show_run

    show_run(run, data, every=every)


def sql(
    query: Annotated[
        str | None, typer.Argument(help="A SELECT, or short: `from marts.pass_rates`.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="A file with the query; `-`: what is piped in.")
    ] = None,
    example: Annotated[
        str | None, typer.Option("--example", help="A query that comes along, by name; `list` shows them.")
    ] = None,
    format: Annotated[SqlFormat, typer.Option("--format", help="How to show the rows.")] = SqlFormat.table,  # noqa: A002
    data: Data = None,
) -> None:
    """Ask the warehouse in SQL, read-only.

    In CSV, text that a spreadsheet would run as a formula gets a quote before it.

    Example: `biasgrid sql "SELECT model, requirement, rate FROM marts.requirement_findings"`
    """
    from biasgrid.flows.results.sql import ask, read_query
    from biasgrid.flows.runs.prepare import existing_lake
    from biasgrid.flows.runs.run_state import warn_of_unfinished
    from biasgrid.flows.terminal.tables import show_examples, show_rows
    from biasgrid.warehouse.storage.runs import all_runs

    if example == "list":
        show_examples()
        return
    asked, lake = read_query(query, file, example), existing_lake(data)
    every = all_runs(lake)
    warn_of_unfinished(lake, [run for run in every if run.run_id in asked] or every[-1:])
    show_rows(ask(lake, asked), format.value)


def export(
    mart: Annotated[
        str,
        typer.Argument(help="A mart such as `pass_rates`, or a model such as `stg_cases`.", show_default=False),
    ],
    format: Annotated[  # noqa: A002
        ExportFormat, typer.Option("--format", help="What to write; `json` is one object a line.")
    ] = ExportFormat.csv,
    run: Annotated[str | None, typer.Option("--run", help="Of this run alone, by its id or an end of it.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="File to write.", show_default="MART.FORMAT")] = None,
    force: Force = False,
    data: Data = None,
) -> None:
    """Write a mart or staging model as a file, of all runs or of one.

    In CSV, text that a spreadsheet would run as a formula gets a quote before it, and nested values are JSON.

    Example: `biasgrid export requirement_findings --out findings.csv`
    """
    from biasgrid.flows.results.sql import export as written

    path, rows = written(mart, format.value, run, out, data, force=force)
    typer.echo(f"{path} ({format_count(rows, 'row')})")


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Options):
    """What `compare` may be given."""

    earlier: str | None = option(
        None,
        "",
        "A run by its id, its beginning or end; after an @ one of its evaluations, else the newest. Without any, "
        "the newest run with the one before it.",
        metavar="RUN[@EVALUATION]",
        show_default=False,
    )
    later: str | None = option(
        None,
        "",
        "What it is compared with: another run, or another evaluation of the same.",
        metavar="RUN[@EVALUATION]",
        show_default=False,
    )
    models: tuple[str, str] | None = option(
        None,
        "--models",
        "In place of a second run: two models of this one, tested in pairs of equal prompts.",
        metavar="A B",
        show_default=False,
        read=same,
    )
    pairs: list[str] | None = option(
        None,
        "--as",
        "Compare model A of the first run with model B of the second, and no others; may be repeated. "
        "Where each run has one model, these are compared anyway.",
        metavar="A=B",
    )
    format: Literal["table", "json", "csv", "markdown", "html"] = option(
        "table", "--format", "How to show it; `html`: a page with every question and both answers."
    )
    out: Path | None = option(
        None, "--out", "With `html`: directory to write into.", show_default="reports/compare-A-B", read=same
    )
    open_it: bool = option(False, "--open", "Write the page, and open it in the browser.")
    table: str | None = option(
        None,
        "--table",
        "With `--format csv`: which table of the comparison; else its first, such as `requirements`.",
    )
    data: str | None = DATA


@command(CompareOptions, "earlier later models pairs format out open_it table data")
def compare(given: CompareOptions) -> None:
    """What got worse, what got better, and what else differs between two runs, or two models of one run
    (`--models A B`): prompt by prompt, tested, at a false-discovery rate of 5%. Probes, red teams, interactions
    and audits are compared with their own kind, by trial, session, scene and pair of documents. Of two
    evaluations of one run: which verdicts moved, and why.

    Example: `biasgrid compare 01M86RMJ --models simulated/fair simulated/biased`
    """
    from biasgrid.flows.compare.compare import Asked, show, write_page

    asked = Asked(given.earlier, given.later, given.pairs or (), given.models)
    if given.format == "html" or _opens_page(given):
        page = write_page(asked, given.out, given.data)
        typer.echo(page)
        _open(page, wanted=given.open_it)
        return
    show(asked, given.format, given.table, given.data)


def _opens_page(given: CompareOptions) -> bool:
    """Raises UserError for options of a page next to another format."""
    if given.format == "table" and given.open_it:
        return True
    if given.open_it:
        raise UserError(
            Problem("a page is opened, and no other format", f"--format {given.format}", "leave one out")
        )
    if given.out is not None:
        raise UserError(Problem("is for the page", f"--out {given.out}", "add `--format html`"))
    return False


app = typer.Typer(
    help="Bundles for auditors, as `biasgrid report --format evidence` writes them.", no_args_is_help=True
)


@app.callback()
def evidence() -> None:
    """Bundles for auditors, as `biasgrid report --format evidence` writes them."""


@app.command()
def verify(
    file: Annotated[
        Path, typer.Argument(help="A bundle, or a folder that one was unpacked to.", show_default=False)
    ],
    digest: Annotated[
        str | None,
        typer.Option("--digest", help="The digest as it was signed or noted elsewhere.", show_default=False),
    ] = None,
) -> None:
    """Check every byte of a bundle: each file, the manifest, the zip around them.

    Prints the bundle's digest, the SHA-256 of its manifest: noted or signed elsewhere, and given with `--digest`,
    it shows that the whole bundle is the one that was meant. No bundle can show by itself who made it.

    Exit codes: 0 all is as written, 1 something was changed, is missing, added or renamed, or the digest is
    another, 2 there is no such file, or the digest is none.

    Example: `biasgrid evidence verify evidence.zip`
    """
    from biasgrid.flows.results.report import check_bundle, show_verified

    found = check_bundle(file, digest)
    show_verified(file, found, digest)
    raise typer.Exit(0 if found.is_intact else 1)


@dataclass(frozen=True, kw_only=True)
class TraceOptions(Options):
    """What `trace` may be given."""

    id: str = option(
        "",
        "",
        "Of a run, requirement, cell, template, instance, case, request, response or verdict, an "
        "attribute pair, a red team's session, a scene or its play; the beginning is enough.",
        show_default=False,
    )
    run: str | None = option(None, "--run", "In this run; else the newest that knows the id.")
    model: str | None = option(None, "--model", "Of this model alone.")
    kind: Kind | None = option(None, "--kind", "What it is the id of, where it may be several.", read=same)
    examples: int = option(3, "--examples", "Prompts to show, of those it leads to.", min=0)
    sql: bool = option(False, "--sql", "The SQL that made the finding, as a script.")
    format: Literal["text", "json"] = option("text", "--format", "How to show it.")
    data: str | None = DATA


@command(TraceOptions, "id run model kind examples sql format data", id=...)
def trace(given: TraceOptions) -> None:
    """From any id to requirement, template, prompt, response, verdict and finding: what was asked and answered,
    and why it counts as it does.

    Example: `biasgrid trace sexism-001`
    """
    from biasgrid.flows.results.trace import show
    from biasgrid.flows.results.trace_view import Asked

    as_json = given.format == "json"
    wanted = Asked(given.id, given.kind, given.run, given.model, given.examples, as_json, given.sql, given.data)
    show(wanted)
