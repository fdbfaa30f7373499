"""Writes entries of template files as YAML that people can edit and our reader reads unchanged."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.documents import parse_document
from biasgrid.catalogs.text_safety import excerpt, is_invisible, storable


class _Dumper(yaml.SafeDumper):
    """Quotes texts that our reader would take for numbers; indents lists below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


class _Row(dict[str, Any]):
    """A mapping on one line, such as a twin."""


# the reader takes `09` and `1e5` for numbers, which PyYAML's own rules do not
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_Dumper.add_representer(type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", ""))
_Dumper.add_representer(
    _Row, lambda dumper, row: dumper.represent_mapping("tag:yaml.org,2002:map", row, flow_style=True)
)
_Dumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", storable(text), style=_style(text))
)


def _style(text: str) -> str | None:
    if any(is_invisible(letter) for letter in text):
        return '"'
    # a block whose last line is empty would end the document
    return ("|" if text == text.strip() else '"') if "\n" in text else None


def dump(value: Any) -> str:
    """A value as block YAML, keys in their order, None as nothing."""
    rows = _in_rows(value)
    text = yaml.dump(
        rows, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=False
    )
    # PyYAML leaves some of these as they are; their texts are in double quotes, where escapes are read
    return "".join(_escape(letter) if is_invisible(letter) else letter for letter in text)


def list_entry(entry: Mapping[str, Any], notes: Sequence[str] = (), by: int = 2) -> str:
    """An entry of a list, indented, with notes as comments above it; without a last line break."""
    return indent("".join(comment(note) for note in notes) + dump([dict(entry)]), " " * by).rstrip("\n")


def append_entries(path: Path, text: str, entries: Sequence[Mapping[str, Any]], name: str) -> str | None:
    """The text with the entries after its last list, or None if it has no list; raises UserError if it ends
    with anything else."""
    if parse_document(text, str(path)).value is None:
        return None
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    key, held = root.value[-1] if isinstance(root, yaml.MappingNode) and root.value else (None, None)
    if key is None or key.value != name or not isinstance(held, yaml.SequenceNode) or held.flow_style:
        what = f"cannot take further {name}: its last key must be `{name}`, a list with one entry a line"
        raise UserError(Problem(what, str(path), "rewrite it so, or accept into another directory"))
    return f"{text.rstrip()}\n{list_entries(entries, held.start_mark.column)}\n"


def list_entries(entries: Sequence[Mapping[str, Any]], by: int = 2) -> str:
    return "\n".join(list_entry(entry, by=by) for entry in entries)


def comment(text: str) -> str:
    """The text as comment lines, which no character in it can end."""
    return "".join(f"# {excerpt(line, 1000)}".rstrip() + "\n" for line in text.split("\n")) if text else ""


def _escape(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"


def _in_rows(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _Row(held) if key == "twin" and isinstance(held, Mapping) else _in_rows(held)
            for key, held in value.items()
        }
    return [_in_rows(held) for held in value] if isinstance(value, list | tuple) else value
