"""Parses YAML and JSON with the line of each value, and validates them with all errors of a file at once."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from yaml.constructor import ConstructorError

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.loading.pydantic_errors import Location, list_problems, name_of
from biasgrid.catalogs.loading.text_files import read_text

Model = TypeVar("Model", bound=BaseModel)


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """YAML 1.2 core types: `No` is a string, not false, and `12:30` is not a number."""


def _register(kind: str, convert: Callable[[str], object]) -> None:
    """Registers `convert` for a tag; its ValueErrors become errors of the file."""

    def construct(_: yaml.SafeLoader, node: yaml.Node) -> object:
        try:
            return convert(node.value)
        except (ValueError, KeyError, TypeError) as error:
            raise ConstructorError(None, None, f"what cannot be read as {kind}", node.start_mark) from error

    _Loader.add_constructor(f"tag:yaml.org,2002:{kind}", construct)


_register("int", int)  # PyYAML reads `010` as octal 8 and fails on `09`
_register("float", float)
_register("bool", {"true": True, "True": True, "false": False, "False": False}.__getitem__)
for _tag in ("timestamp", "binary", "omap", "pairs", "set"):
    _Loader.yaml_constructors.pop(f"tag:yaml.org,2002:{_tag}")
_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in [
    ("bool", r"^(?:true|false|True|False)$", "tfTF"),
    ("null", r"^(?:~|null|Null|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
]:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


DEEPEST = 100
MOST_VALUES = 2_000_000
"""Values of a file, which take some 500 bytes each."""
SAFE_BRACKETS = 2_000
"""The parser is recursive C code, which ends the process at some 15,000 levels."""
INDENTED = re.compile(r"^[ ?:-]{500}", re.MULTILINE)


def _check_depth(text: str) -> None:
    """Raises YAMLError if values are nested too deep, by events where brackets and indentation leave it open."""
    if text.count("[") + text.count("{") <= SAFE_BRACKETS and not INDENTED.search(text):
        return
    depth, loader = 0, _Loader(text)
    while (event := loader.get_event()) is not None:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"nested more than {DEEPEST} deep", problem_mark=event.start_mark)


def load_yaml(text: str) -> Any:
    """The value of a file whose positions no message names; raises YAMLError."""
    _check_depth(text)
    return yaml.load(text, _Loader)  # noqa: S506 - a safe loader


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file; `lines` maps a value's path, such as `("requirements", 0, "tolerance")`, to its line."""

    name: str
    text: str
    value: Any
    lines: Mapping[Location, int]
    names: Mapping[Location, str] = field(default_factory=dict)
    """Names in the file of values that were moved to another path."""
    given: Mapping[Location, str] = field(default_factory=dict)
    """Sources of values that are not in the file, such as `--model`."""

    def line(self, location: Location) -> int | None:
        """Line of a value, or of its nearest existing parent; unknown parts of the path are skipped."""
        known: Location = ()
        for part in location:
            if (*known, part) in self.lines:
                known = (*known, part)
        return self.lines.get(known)

    def place(self, *location: str | int) -> str:
        """`file:line` of a value, or its source outside the file."""
        for end in range(len(location), 0, -1):
            if location[:end] in self.given:
                return self.given[location[:end]]
        return place(self.name, self.line(location))


def read_document(path: Path) -> Document:
    """The parsed YAML or JSON file; raises UserError if it cannot be read or parsed."""
    return parse_document(read_text(path), str(path), is_json=path.suffix == ".json")


def parse_document(text: str, name: str, *, is_json: bool = False) -> Document:
    """A document parsed from text; raises UserError for invalid syntax or duplicate keys."""
    _check_characters(text, name)
    value, node = _from_json(text, name) if is_json else _from_yaml(text, name)
    lines = _lines(node, text, name)
    repeated = dict.fromkeys(_repeated_keys(node))
    if repeated:
        what, remedy = "holds the key `{}` twice", "keep one of them"
        raise UserError(Problem(what.format(key), place(name, line), remedy) for key, line in repeated)
    return Document(name, text, value, lines)


def _lines(node: yaml.Node | None, text: str, name: str) -> dict[Location, int]:
    """Line of each value by path; raises UserError if YAML aliases expand to too many values."""
    most = min(max(10 * len(text), 100_000), MOST_VALUES)
    lines: dict[Location, int] = {}
    for location, line in _walk(node, ()):
        lines[location] = line
        if len(location) > DEEPEST:
            what = f"is nested more than {DEEPEST} deep, or holds an anchor within itself"
            raise UserError(Problem(what, place(name, line), "write the value out"))
        if len(lines) >= most:
            what = f"repeats its anchors beyond measure: it holds more than {most:,} values"
            raise UserError(Problem(what, name, "write the values out, or split the file"))
    return lines


def _check_characters(text: str, name: str) -> None:
    """Raises UserError for a lone surrogate, literal or as a JSON escape, because no file could store it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start].encode("unicode_escape").decode()
        what = f"holds `{half}`, which is half of a character"
        raise UserError(Problem(what, name, "write the whole character")) from error


def _from_json(text: str, name: str) -> tuple[Any, yaml.Node | None]:
    try:
        value = json.loads(text)
        written = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError) as error:  # Python refuses numbers with thousands of digits
        line = getattr(error, "lineno", None)
        deep = isinstance(error, RecursionError)
        reason = getattr(error, "msg", "nested too deeply" if deep else "a number has too many digits")
        what = f"is not valid JSON: {reason}{_excerpt(text, line)}"
        lost = reason.startswith(("Expecting value", "Expecting property name"))
        remedy = "mend the JSON there" + (": a comma before `]` or `}`, perhaps" if lost else "")
        raise UserError(Problem(what, place(name, line), remedy)) from error
    _check_characters(written, name)
    return value, _json_nodes(text)


def _from_yaml(text: str, name: str) -> tuple[Any, yaml.Node | None]:
    """Value and node tree from a single parse, since a library has ten thousand lines."""
    try:
        _check_depth(text)
        loader = _Loader(text)
        node = loader.get_single_node()
        return (None if node is None else loader.construct_document(node)), node
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else None
        reason = getattr(error, "problem", None) or "cannot be parsed"
        held = text.splitlines()[line - 1 : line] if line else []
        remedy = _yaml_remedy(held[0][:1000] if held else "", reason)
        what = f"is not valid YAML: {reason}{_excerpt(text, line)}"
        raise UserError(Problem(what, place(name, line), remedy)) from error


def _yaml_remedy(line: str, reason: str) -> str:
    if "\t" in line:
        return "indent with blanks: YAML takes no tabs"
    if re.search(r":\s+[{\[].*[}\]]\s*[^\s#]", line):
        return "put the text in quotes: without them a brace begins a mapping"
    return next((remedy for part, remedy in YAML_REMEDIES.items() if part in reason), "mend the YAML there")


YAML_REMEDIES = {
    "mapping values are not allowed": "put the text in quotes if it holds `: `, else indent keys alike",
    "cannot start any token": "put the text in quotes: its first character means something else in YAML",
    "unexpected end of stream": "close the quotes",
    "undefined alias": "put the text in quotes: `*` begins an alias",
    "could not determine a constructor": "take the tag (`!…`) out",
    "another document": "take the line `---` out: a file is one document",
    "did not find expected key": "indent the keys of a mapping alike, and close quotes before the next key",
    "expected ',' or": "close the bracket, and put commas between",
    "unknown escape character": "write the text in single quotes, which leave `\\` as it is",
    "nested more than": "write it flat",
}
"""By a part of the parser's reason."""


def _excerpt(text: str, line: int | None) -> str:
    lines = text.splitlines()
    return f": `{lines[line - 1].strip()[:80]}`" if line and line <= len(lines) else ""


def _json_nodes(text: str) -> yaml.Node | None:
    """Node tree of a JSON document, or None if YAML cannot parse it."""
    try:
        # JSON allows tabs between tokens and surrogate pairs as escapes; YAML allows neither
        plain = re.sub(r"\t|\\u[dD][89a-fA-F][0-9a-fA-F]{2}", " ", text)
        _check_depth(plain)
        return yaml.compose(plain, Loader=_Loader)
    except yaml.YAMLError:
        return None


def _walk(node: yaml.Node | None, at: Location) -> Iterator[tuple[Location, int]]:
    if node is None:
        return
    yield at, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            yield (*at, key.value), key.start_mark.line + 1
            for location, line in _walk(child, (*at, key.value)):
                if location != (*at, key.value):
                    yield location, line
    elif isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            yield from _walk(child, (*at, index))


def _repeated_keys(node: yaml.Node | None) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, child in node.value:
            if str(key.value) in seen:
                yield str(key.value), key.start_mark.line + 1
            seen.add(str(key.value))
            yield from _repeated_keys(child)
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _repeated_keys(child)


def validate(model: type[Model], document: Document, value: Any = None, at: Location = ()) -> Model:
    """`value` (default: the document) validated as `model`; raises UserError with every error and its line."""

    def name(location: Location) -> str:
        return name_of((*at, *location), document.value, document.names)

    try:
        return model.model_validate(document.value if value is None else value)
    except ValidationError as error:
        found = list_problems(error, model, name, lambda location: document.place(*at, *location))
        raise UserError(found) from error


def sound_part(
    model: type[Model], value: Mapping[str, Any], stand_ins: Mapping[str, Any] | None = None
) -> Model | None:
    """The value without its invalid keys, or with `stand_ins` for them; None if too little is left."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        wrong = {str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}
    sound = {key: inner for key, inner in value.items() if key not in wrong}
    try:
        return model.model_validate({**(stand_ins or {}), **sound})
    except ValidationError:
        return None
