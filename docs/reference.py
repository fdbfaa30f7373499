"""Writes the pages of the reference that are made from code: commands, and the keys of files that users write.

`make reference` runs it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from biasgrid.flows.cli.commands import make_app

FOLDER = Path(__file__).resolve().parent / "reference"
SCHEMAS = FOLDER.parents[1] / "catalogs" / "json_schemas"
EXAMPLE = re.compile(r"Example: `([^`]*)`")
NOTE = "<!-- Written by `make reference` from {}: change that. -->"


def list_commands() -> str:
    commands = sorted(walk_commands(get_command(make_app())), key=lambda named: named[0])
    head = (
        "# Commands\n\n"
        + NOTE.format("flows/cli")
        + "\n\nEvery command has `--help`; run ids may be shortened to "
        "their beginning or end.\n"
    )
    return head + "".join(_describe_command(name, command) for name, command in commands if name)


def walk_commands(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every command that does something by itself, with its name."""
    subs = getattr(command, "commands", None)
    if not subs or (name and command.invoke_without_command):
        yield name, command
    for word, sub in (subs or {}).items():
        yield from walk_commands(sub, f"{name} {word}".strip())


def _describe_command(name: str, command: Any) -> str:
    shown = [one for one in command.params if not one.hidden and one.name != "help"]
    rows = [_describe_parameter(one) for one in shown]
    table = f"\n{_table(('option', 'means'), rows)}" if rows else ""
    about = EXAMPLE.sub(r"```sh\n\1\n```", command.help.strip())
    return f"\n## {name}\n\n{about}\n{table}"


def _describe_parameter(parameter: Any) -> tuple[str, str]:
    is_option = parameter.param_type_name == "option"
    names = [*parameter.opts, *parameter.secondary_opts] if is_option else [f"{{{parameter.name}}}"]
    meaning = " ".join((parameter.help or "").split())
    default = parameter.default
    value = getattr(default, "value", default)
    stated = f" Default: `{value}`." if value not in (None, False, True, "", ()) and not callable(value) else ""
    return ", ".join(
        f"`{name}`" for name in names
    ), f"{meaning}{stated}{' Required.' if parameter.required else ''}"


FILES = {
    "scenario": "A scenario: which models, asked how, and requirements: `biasgrid run`, `plan`, `serve`.",
    "requirements": "Requirements that scenarios share, in `requirements/` of a catalog directory.",
    "target": "What a probe and a red team examine: `biasgrid probe`, `redteam`.",
    "interaction": "Agents that share out tasks: `biasgrid interact`.",
    "audit": "Documents with other identities: `biasgrid audit`.",
    "models": "Providers and models, `models.yaml` of a catalog directory.",
    "endpoint": "A chatbot of your own, in `endpoints/` of a catalog directory.",
    "templates": "Questions, in `templates/` of a catalog directory or in a library.",
    "communities": "Sets of communities, in `communities/` of a catalog directory.",
    "language": "How a language frames questions, in `languages/` of a catalog directory.",
}
"""Files that users write, by the name of their schema."""


def list_keys() -> str:
    head = (
        "# Keys of files\n\n"
        + NOTE.format("catalogs/json_schemas")
        + ("\n\nKeys in bold are required. Editors check them by the schemas in `catalogs/json_schemas`.\n")
    )
    return head + "".join(_describe_file(name, about) for name, about in FILES.items())


def _describe_file(name: str, about: str) -> str:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    parts = [("", schema), *schema.get("$defs", {}).items()]
    tables = []
    for part, described in parts:
        if "properties" not in described:
            continue
        title = f"\n### {name}: {part}\n" if part else ""
        tables.append(f"{title}\n{_table(('key', 'value', 'default', 'means'), _list_properties(described))}")
    return f"\n## {name}\n\n{about}\n" + "".join(tables)


def _list_properties(schema: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, value in schema["properties"].items():
        name = f"**`{key}`**" if key in schema.get("required", ()) else f"`{key}`"
        stated = value.get("default")
        default = "" if stated in (None, "", [], {}) else f"`{json.dumps(stated, ensure_ascii=False)}`"
        yield name, _kind(value), default, " ".join(value.get("description", "").split())


def _kind(value: dict[str, Any]) -> str:
    """What may stand there, in a few words."""
    if "$ref" in value:
        return f"{value['$ref'].rpartition('/')[2]}"
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in value:
            kinds = [_kind(one) for one in value[several] if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(filter(None, kinds)))
    kind = value.get("type", "")
    if kind == "array":
        return f"list of {_kind(value['items'])}" if value.get("items") else "list"
    return "text" if isinstance(kind, list) or kind == "string" else PLAIN.get(kind, kind) + _bounds(value)


PLAIN = {"integer": "whole number", "boolean": "`true` or `false`", "object": "mapping"}


def _bounds(value: dict[str, Any]) -> str:
    low = value.get("minimum", value.get("exclusiveMinimum"))
    high = value.get("maximum", value.get("exclusiveMaximum"))
    if low is None and high is None:
        return ""
    more = "more than" if "exclusiveMinimum" in value else "at least"
    return (
        f" {low} to {high}" if None not in (low, high) else f" {more} {low}" if high is None else f" up to {high}"
    )


def _table(heads: tuple[str, ...], rows: Any) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


PAGES = {"commands.md": list_commands, "keys.md": list_keys}

if __name__ == "__main__":
    for page, write in PAGES.items():
        (FOLDER / page).write_text(write(), encoding="utf-8")
