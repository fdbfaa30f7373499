"""Libraries of one template a line (`.jsonl`), for benchmarks of tens of thousands of items.

A line is a JSON object with the keys of a template, its `language` and `concern`, and its `oracle` written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from biasgrid.catalogs.errors import Problem, place
from biasgrid.catalogs.loading.pydantic_errors import explain, follows, remedy
from biasgrid.catalogs.loading.template_files import astray, incomparable
from biasgrid.catalogs.scenario.wording import strayed
from biasgrid.catalogs.schema.entries import Template

LINES_SUFFIX = ".jsonl"


def read_lines(text: str, path: Path) -> tuple[tuple[Template, ...], list[Problem]]:
    """The templates that can be read, and a mistake for every other line that is not blank."""
    templates: dict[tuple[str, str], Template] = {}
    mistakes: list[Problem] = []
    # not splitlines: a text may hold a line separator of Unicode's
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            read = Template.model_validate_json(line)
        except ValidationError as error:
            mistakes.extend(_mistakes(error, place(path, number)))
            continue
        where = {"library": str(path), "file": str(path), "line": number}
        mistakes.extend(_worded(read, place(path, number)))
        template = templates.setdefault((read.language, read.id), read.model_copy(update=where))
        if template.line != number:
            what = f"template `{read.id}` stands on line {template.line} too"
            mistakes.append(Problem(what, place(path, number), "give each its own id"))
    return tuple(templates.values()), mistakes


def _worded(template: Template, where: str) -> Iterator[Problem]:
    yield from (astray(template, number, where) for number in strayed(template))
    if template.paraphrases and template.oracle.type == "same value":
        yield incomparable(template, where)


def written_line(template: Template) -> str:
    """A template as a line that `read_lines` reads as the same template; nothing of where it was read."""
    return template.model_dump_json(exclude_defaults=True, exclude={"library", "file", "line"})


def _mistakes(error: ValidationError, where: str) -> Iterator[Problem]:
    problems = error.errors()
    for problem in problems:
        if problem["type"] == "json_invalid":
            yield Problem(f"is not valid JSON: {problem['ctx']['error']}", where, "mend the JSON of this line")
        elif not follows(problem, [other["loc"] for other in problems]):
            name = ".".join(str(part) for part in problem["loc"])
            told = f"`{name}`" if name else "the line"
            yield Problem(explain(problem, told), where, remedy(problem, Template))
