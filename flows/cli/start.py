"""`init` and `list`: ways into a first scenario."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from biasgrid.flows.runs.options import Options, command, option, same

T = TypeVar("T")
TEMPLATES: Final = 56
"""Of each requirement: at least 38 of them are no twins, with which a perfect score proves 90%."""


class Listed(StrEnum):
    models, concerns, communities = "models", "concerns", "communities"
    requirements, respondents, attacks = "requirements", "respondents", "attacks"


def list_entries(what: Annotated[Listed, typer.Argument(help="What to list.", show_default=False)]) -> None:
    """List what a scenario or a command may name, each with its meaning: `biasgrid list models`."""
    from biasgrid.flows.catalog.listing import list_entries as listed
    from biasgrid.flows.terminal.tables import show_sections

    show_sections([listed(what.value)])


@dataclass(frozen=True, kw_only=True)
class InitOptions(Options):
    """What `init` may be given."""

    file: Path | None = option(
        None, "", "The file to write: by default my-scenario.yaml or my-audit.yaml.", read=same, show_default=False
    )
    audit: bool = option(False, "--audit", "Write an audit file, and the applications that it is about.")
    models: list[str] | None = option(None, "--model", "`provider/model`; may be repeated.")
    concerns: list[str] | None = option(None, "--concern", "Such as `sexism`; may be repeated.")
    languages: list[str] | None = option(None, "--language", "Such as `en_us`; may be repeated.")
    tolerance: float | None = option(None, "--tolerance", "The least rate, 0 to 1.", min=0, max=1)
    templates: int | None = option(None, "--templates", "At most, of each requirement.", min=1)
    force: bool = option(False, "--force", "Replace a file that exists.")
    yes: bool = option(False, "--yes -y", "Ask nothing: take the defaults.")


@command(InitOptions, "file audit models concerns languages tolerance templates force yes")
def init(given: InitOptions) -> None:
    """Write a commented scenario that runs. On a terminal it asks five questions, but those that options answer:
    `biasgrid init --model simulated/fair --concern sexism`. With `--audit`: a commented audit file and sixty
    applications for twelve jobs (thirty for six with `--language es` or `ca`), whose simulated deciders need no
    key."""
    if given.audit:
        _write_audit(given)
        return
    from biasgrid.flows.catalog.new_scenario import Wish, offered_concerns, write_scenario

    asks = sys.stdin.isatty() and not given.yes
    offered = offered_concerns()
    wish = Wish(
        given.models or _ask(asks, "Models, `provider/model`", "simulated/fair, simulated/biased", _split),
        given.concerns or _ask(asks, f"Concerns ({', '.join(offered)})", "sexism, ageism", _split),
        given.languages or _ask(asks, "Languages", "en_us", _split),
        given.tolerance or _ask(asks, "Least rate that must pass, 0 to 1", 0.9, float),
        given.templates or _ask(asks, "Templates of each requirement, at most", TEMPLATES, int),
    )
    path = write_scenario(given.file or Path("my-scenario.yaml"), wish, force=given.force)
    typer.echo(f"wrote {path}")
    typer.echo(f"Next  biasgrid plan {path}\n      biasgrid run {path}")
    typer.echo("      biasgrid report --format junit --out reports   # in CI, after a run")


def _write_audit(given: InitOptions) -> None:
    """Raises UserError for options of scenarios alone."""
    from biasgrid.catalogs.errors import Problem, UserError
    from biasgrid.flows.catalog.new_audit import write_audit

    alone = [f"--{name.rstrip('s')}" for name in given.pick("concerns", "tolerance", "templates")]
    languages = given.languages or ["en_us"]
    wrong = [*alone, *(["--language"] if len(languages) > 1 else [])]
    if wrong:
        raise UserError(Problem("is for scenarios, not for an audit", flag, "leave it out") for flag in wrong)
    models = given.models or ["simulated/decider-gap", "simulated/decider-fair"]
    path, folder = write_audit(given.file or Path("my-audit.yaml"), models, languages[0], force=given.force)
    typer.echo(f"wrote {path} and the applications in {folder}")
    typer.echo(f"Next  biasgrid prepare {path}\n      biasgrid plan {path}\n      biasgrid audit {path}")


def _ask(asks: bool, question: str, default: Any, read: Callable[[Any], T]) -> T:
    """The answer, or the default where nothing is asked."""
    return read(typer.prompt(question, default=default, type=type(default)) if asks else default)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
