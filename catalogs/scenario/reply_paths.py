"""Where in a JSON document something stands: `choices[0].message.content`, `data.0.text`, `[*].text`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

Step = str | int | None
"""A key, an index from either end, or None for every entry of a list."""

STEP = re.compile(r"""\.?(?:([^.\[\]\s"']+)|\[(-?\d+)\]|(\[\*\])|\["([^"]+)"\]|\['([^']+)'\])""")
WANTED = "write keys and indexes, such as `choices[0].message.content` or `data.0.text`"


def steps(path: str) -> tuple[Step, ...]:
    """The steps of a path, `$.` before it left out. Raises ValueError where it is none."""
    rest = path.strip().removeprefix("$")
    found: list[Step] = []
    at = 0
    while at < len(rest):
        match = STEP.match(rest, at)
        if match is None or (found and match[1] and rest[at] != "."):
            raise ValueError(f"is no path; {WANTED}")
        found.append(_step(match))
        at = match.end()
    if not found:
        raise ValueError(f"is no path; {WANTED}")
    return tuple(found)


def _step(match: re.Match[str]) -> Step:
    if match[3]:
        return None
    return int(match[2]) if match[2] else match[1] or match[4] or match[5]


def found_at(document: object, path: tuple[Step, ...]) -> Iterator[object]:
    """What stands there: one value, or with `[*]` any number. Raises LookupError with the first step that leads
    nowhere."""
    if not path:
        yield document
        return
    step, rest = path[0], path[1:]
    if step is None:
        if not isinstance(document, list):
            raise LookupError("[*]")
        for entry in document:
            yield from found_at(entry, rest)
        return
    yield from found_at(_inside(document, step), rest)


def _inside(document: object, step: str | int) -> object:
    """`data.0` is the first of a list, and the key `0` of a mapping."""
    if isinstance(document, dict) and str(step) in document:
        return document[str(step)]
    index = int(step) if re.fullmatch(r"-?[0-9]{1,9}", str(step)) else None
    if isinstance(document, list) and index is not None and -len(document) <= index < len(document):
        return document[index]
    raise LookupError(str(step))


def _checked(path: str) -> str:
    steps(path)
    return path


ReplyPath = Annotated[str, AfterValidator(_checked)]
