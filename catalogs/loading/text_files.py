"""Reads the text files that users give: bounded in size, in the encodings that editors and spreadsheets save."""

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Final

from biasgrid.catalogs.errors import Problem, UserError, close_names, nearest, place

MEGABYTE: Final = 1_000_000
LARGEST_DOCUMENT: Final = 16
"""Megabytes of a YAML or JSON file, whose values take some forty times as much memory."""
LARGEST_LIBRARY: Final = 64
"""Megabytes of a library's files together, each of whose templates is kept in memory."""
LARGEST_TABLE: Final = 256
"""Megabytes of a table or of JSON lines that are imported or filled in."""
MOST_NAMES: Final = 1000
"""Files of a directory that are compared with a name that is not there."""
DOCUMENTS: Final = (".yaml", ".yml", ".json")
OTHER_FORMATS: Final = {
    b"PK\x03\x04": "an Excel workbook or a zip",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"PAR1": "Parquet",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "compressed (gzip)",
    b"\x89PNG": "a picture",
}
"""By a file's first bytes."""
UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
"""Byte-order marks."""


def read_text(path: Path, largest: int = 0) -> str:
    """Text of a file in UTF-8, or UTF-16 with its mark, of at most `largest` megabytes; raises UserError."""
    return _uniform(_decode(_read_bytes(path, largest), path, "save it as UTF-8"))


def read_table_text(path: Path, largest: int = LARGEST_TABLE, *, as_is: bool = False) -> str:
    """As `read_text`, and in Windows-1252 too, as spreadsheets save tables; `as_is`: with its line breaks."""
    given = _read_bytes(path, largest)
    text = _decode(given, path, "save it as CSV (UTF-8)", "cp1252" if _is_code_page(given) else "utf-8-sig")
    return text if as_is else _uniform(text)


def _uniform(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def refuse_large(paths: Iterable[Path], what: str) -> None:
    """Raises UserError if files are larger together than a library may be."""
    size = sum(path.stat().st_size for path in paths)
    if size > LARGEST_LIBRARY * MEGABYTE:
        holds = f"{what} holds {size / MEGABYTE:,.0f} MB, and at most {LARGEST_LIBRARY} MB are read"
        raise UserError(Problem(holds, remedy="split it into several libraries, and run one after the other"))


def _read_bytes(path: Path, largest: int) -> bytes:
    most = largest or (LARGEST_DOCUMENT if path.suffix.lower() in DOCUMENTS else LARGEST_TABLE)
    try:
        with path.open("rb") as file:
            given = file.read(most * MEGABYTE + 1)  # a pipe or device has no size to look at
    except IsADirectoryError as error:
        raise UserError(Problem("cannot be read: Is a directory", str(path), "name a file in it")) from error
    except FileNotFoundError as error:
        what = "cannot be read: No such file or directory"
        raise UserError(Problem(what, str(path), _similar(path) or "check the path")) from error
    except (OSError, ValueError) as error:  # a path with a NUL character is a ValueError
        what = f"cannot be read: {getattr(error, 'strerror', None) or error}"
        named = str(path).replace("\x00", "\\0")
        raise UserError(Problem(what, named, "check the path and its permissions")) from error
    if len(given) > most * MEGABYTE:
        raise UserError(Problem(f"is larger than {most} MB, the most that is read", str(path), "split it"))
    return given


def _similar(path: Path) -> str:
    """A remedy with the files next to `path` whose names are closest; empty if there are none."""
    try:
        names = [found.name for found in islice(path.parent.iterdir(), MOST_NAMES) if found.is_file()]
    except OSError:
        return ""
    close = close_names(path.name, names)
    return nearest(path.name, names) if close else ""


def _decode(given: bytes, path: Path, remedy: str, encoding: str = "utf-8-sig") -> str:
    other = next((name for mark, name in OTHER_FORMATS.items() if given.startswith(mark)), "")
    named, encoding = ("UTF-16", "utf-16") if given.startswith(UTF_16) else ("UTF-8", encoding)
    try:
        text = given.decode(encoding)
    except UnicodeDecodeError as error:
        what = f"is no text: it is {other}" if other else f"is not {named} text (byte {error.start})"
        raise UserError(Problem(what, str(path), remedy)) from error
    if other or "\x00" in text:
        line = text.count("\n", 0, text.find("\x00")) + 1
        what = f"is no text: it is {other}" if other else "is no text: it holds a NUL character"
        raise UserError(Problem(what, place(path, None if other else line), remedy))
    return text


def _is_code_page(given: bytes) -> bool:
    """Whether text is no UTF-8, and not only damaged: most of its characters beyond ASCII are none there."""
    text = given.decode(errors="replace")
    broken = text.count("\ufffd")
    is_western = bool(broken) and b"\x00" not in given and not re.search(rb"[\x81\x8d\x8f\x90\x9d]", given)
    return is_western and len(re.findall(r"[^\x00-\x7f]", text)) <= 2 * broken
