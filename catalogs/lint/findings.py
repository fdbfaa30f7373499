"""What the catalog check says of one place: an error or a warning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from biasgrid.catalogs.errors import Problem, place
from biasgrid.catalogs.schema.entries import Template

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """error      would let a placeholder reach a model, mean something else than was written, or never pass
    warning    weakens what a run can say"""

    severity: Severity
    mistake: Problem

    def __str__(self) -> str:
        where = f"{self.mistake.where}: " if self.mistake.where else ""
        remedy = f"\n    → {self.mistake.remedy}" if self.mistake.remedy else ""
        return f"{where}{self.severity}: {self.mistake.what}{remedy}"

    def told(self) -> dict[str, str | int | None]:
        """The finding as a JSON object: file, line, severity, what, remedy."""
        file, _, line = self.mistake.where.rpartition(":")
        known = line.isdecimal()
        return {
            "file": (file if known else self.mistake.where) or None,
            "line": int(line) if known else None,
            "severity": self.severity,
            "what": self.mistake.what,
            "remedy": self.mistake.remedy,
        }


def at(template: Template) -> str:
    """`file:line` of a template."""
    return place(template.file, template.line)


def error(template: Template, what: str, remedy: str) -> Finding:
    """A finding on a template without which it must not be asked; `what` goes on after the template's id."""
    return Finding("error", Problem(f"template `{template.id}` {what}", at(template), remedy))


def warning(template: Template, what: str, remedy: str) -> Finding:
    """A finding on a template that can be asked all the same; `what` goes on after the template's id."""
    return Finding("warning", Problem(f"template `{template.id}` {what}", at(template), remedy))
