"""Any JSON lines: the user names where the fields stand, unless they have their usual names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from biasgrid.catalogs.logs.fields import FIELDS
from biasgrid.catalogs.logs.files import Record, read_lines
from biasgrid.catalogs.logs.tools import Tool


def read(files: Sequence[Path]) -> Iterator[Record]:
    return chain.from_iterable(map(read_lines, files))


TOOL: Final = Tool(assessor="jsonl", fields={name: name for name in FIELDS}, wrote=lambda _: True, read=read)
