"""Formats of `biasgrid report`: a new one is a file with its writer, and a line in FORMATS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

ROOM: Final = "biasgrid.tasks.report"


@dataclass(frozen=True, slots=True)
class Format:
    writer: str
    """`module:function`, imported when it is used: writes files of a lake's run into a folder and returns them."""
    options: tuple[str, ...] = ()
    """Options that the writer takes besides: `gate`, what counts as failed; `language`; `texts`, whether
    a bundle holds those of documents."""
    is_for_all: bool = True
    """Whether every kind of run has it; else those that name it in their `formats`."""
    name: str = "report"
    """In messages."""

    def load(self) -> Callable[..., list[Path]]:
        module, _, function = self.writer.partition(":")
        writer: Callable[..., list[Path]] = getattr(import_module(module), function)
        return writer


FORMATS: Final[Mapping[str, Format]] = {
    "csv": Format(f"{ROOM}.formats.data_files:write_csv"),
    "langbite": Format(
        f"{ROOM}.formats.langbite:write_langbite", is_for_all=False, name="report in LangBiTe's format"
    ),
    "json": Format(f"{ROOM}.formats.data_files:write_json"),
    "html": Format("biasgrid.flows.results.report:write_html", ("language",)),
    "evidence": Format("biasgrid.flows.results.report:write_bundle", ("language", "texts")),
    "junit": Format(f"{ROOM}.formats.junit:write_junit", ("gate",)),
    "markdown": Format(f"{ROOM}.formats.step_summary:write_step_summary", ("gate",)),
    "pictures": Format(f"{ROOM}.charts.pictures:write_pictures"),
    "model-card": Format(f"{ROOM}.formats.model_card:write_model_cards"),
    "every-eval-ever": Format(f"{ROOM}.formats.every_eval_ever:write_every_eval_ever"),
}
