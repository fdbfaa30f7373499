"""Converts pydantic errors into messages for the file's author: entry, value and remedy."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from biasgrid.catalogs.choices import AGE
from biasgrid.catalogs.errors import Problem, close_names, nearest
from biasgrid.catalogs.schema.base import COMMUNITY, IDENTIFIER, LANGUAGE, MARKUP, describe_fields

Location = tuple[str | int, ...]

BRANCHES = ("dict[", "tuple[")
"""Prefixes of union branches in pydantic's error locations."""
PATTERNS = {
    LANGUAGE: ("is no language tag", "write language and country, such as `en_us`"),
    IDENTIFIER: ("is no id", "use lower-case letters, digits, `_`, `-` and `.`, such as `lgtbiqphobia`"),
    COMMUNITY: (
        "is no id of a community",
        "use lower-case letters, digits, `_`, `-`, `.` and `+`, such as `women`",
    ),
    AGE: ("is no age", "write a number and one of s, m, h, d, w, such as `7d`"),
    MARKUP: ("is no markup", "use capitals and `_`, such as `SKIN_COLOR`"),
}


def _plain(bound: object) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)


REASONS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda bound: f"must be at least {_plain(bound['ge'])}",
    "less_than_equal": lambda bound: f"must be at most {_plain(bound['le'])}",
    "greater_than": lambda bound: f"must be more than {_plain(bound['gt'])}",
    "less_than": lambda bound: f"must be less than {_plain(bound['lt'])}",
    "too_short": lambda bound: f"must hold at least {bound['min_length']}",
    "string_too_short": lambda _: "must not be empty",
    "string_too_long": lambda bound: f"must have at most {bound['max_length']} characters",
    "finite_number": lambda _: "must be a finite number",
    "literal_error": lambda bound: f"must be {bound['expected']}".replace("'", "`"),
    "value_error": lambda bound: str(bound["error"]),
}
KINDS = {
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "bool": "`true` or `false`",
    "string": "text",
    "tuple": "a list",
    "list": "a list",
    "dict": "a mapping of keys to values",
    "model": "a mapping of keys to values",
}


def list_problems(
    error: ValidationError,
    model: type[BaseModel],
    name: Callable[[Location], str],
    where: Callable[[Location], str] = lambda _: "",
) -> Iterator[Problem]:
    """The errors of a value without those that only follow from others; `name` and `where` are of a location."""
    problems = error.errors()
    for problem in problems:
        if not follows(problem, [other["loc"] for other in problems]):
            at = problem["loc"]
            yield Problem(explain(problem, name(at)), where(at), remedy(problem, model))


def explain(problem: Mapping[str, Any], name: str) -> str:
    """Describes the error of a value; `name` is its name in the file."""
    kind, given = problem["type"], problem["input"]
    if kind == "json_invalid":
        return f"is not valid JSON: {problem['ctx']['error']}"
    if kind == "missing":
        return f"{name} is missing"
    if kind == "extra_forbidden":
        return f"{name} is not a known key"
    if given is None:
        return f"{name} is empty"
    shown = "" if isinstance(given, dict | list | tuple) else f" is `{shorten(given)}`"
    if kind == "string_pattern_mismatch":
        return f"{name}{shown}, which {_pattern(problem)[0]}"
    return f"{name}{shown}: {_reason(problem)}"


def remedy(problem: Mapping[str, Any], model: type[BaseModel]) -> str:
    """How to fix the error; for a misspelt key or word, the nearest known one."""
    kind = problem["type"]
    if kind == "json_invalid":
        return "mend the JSON of this line"
    if kind == "missing":
        return _with_meaning("add it", model, problem["loc"])
    if kind == "extra_forbidden":
        *at, key = problem["loc"]
        close = close_names(str(key), set(keys(model, tuple(at))))
        return f"did you mean `{close[0]}`?" if close else "check its spelling and its place, or remove it"
    if kind == "string_pattern_mismatch":
        return _pattern(problem)[1]
    if kind == "literal_error":
        return nearest(str(problem["input"]), re.findall(r"'([^']*)'", problem["ctx"]["expected"]))
    return _correction(problem) or _with_meaning(CORRECT, model, problem["loc"])


CORRECT = "correct the value"


def _with_meaning(advice: str, model: type[BaseModel], location: Location) -> str:
    """Advice on a key, with its meaning."""
    about = " ".join(_describe(model, location).split())
    return f"{advice}: {about[0].lower()}{about[1:].rstrip('.')}" if about else advice


def _correction(problem: Mapping[str, Any]) -> str | None:
    """What to write in place of a value that its type or bounds refuse, if that can be seen."""
    kind, given = problem["type"], problem["input"]
    if given is None:
        return "write a value, or leave the key out"
    if kind in ("tuple_type", "list_type") and isinstance(given, str):
        return f"write a list: `[{shorten(given)}]`"
    number = NUMBER.fullmatch(str(given).strip()) if kind in IN_NUMBERS else None
    if number is None:
        return None
    plain = float(number[1].replace(",", "."))
    is_share = kind == "less_than_equal" and problem["ctx"]["le"] == 1
    if (is_share or number[2] == "%") and 2 <= plain <= 100:
        return f"a share: write {plain / 100:g} for {plain:g}%"
    return f"write {plain:g}: a point before decimals, and no unit" if kind == "float_parsing" else None


NUMBER = re.compile(r"[$€£]?\s*(\d{1,12}(?:[.,]\d{1,12})?)\s*([%$€£]|USD|EUR)?")
IN_NUMBERS = ("less_than_equal", "float_parsing")
LONGEST_SHOWN = 120


def shorten(text: object) -> str:
    text = str(text).lower() if isinstance(text, bool) else text
    return f"{str(text)[:LONGEST_SHOWN]}…" if len(str(text)) > LONGEST_SHOWN else str(text)


def follows(problem: Mapping[str, Any], others: Iterable[Location]) -> bool:
    """Whether an error only follows from another, such as a list too short because its items are invalid."""
    at: Location = problem["loc"]
    if problem["type"] == "too_short":
        return any(len(other) > len(at) and other[: len(at)] == at for other in others)
    siblings = [other for other in others if at and len(other) >= len(at) and other[: len(at) - 1] == at[:-1]]
    branches = [str(other[len(at) - 1]) for other in siblings]
    return at[-1:] == ("str",) and (
        isinstance(problem["input"], dict | list) or any(name.startswith(BRANCHES) for name in branches)
    )


def name_of(location: Location, value: Any, names: Mapping[Location, str] | None = None) -> str:
    """Readable name of a location: nearest named entry, then the path; `names` overrides moved locations."""
    if location in (names or {}):
        return f"`{(names or {})[location]}`"
    owner = ""
    path: list[str] = []
    for part, inner in _existing_parts(location, value):
        if isinstance(part, str):
            path.append(part)
            continue
        name = inner.get("name", inner.get("id")) if isinstance(inner, dict) else None
        thing = path[-1].removesuffix("s") if path else "entry"
        is_named = isinstance(name, str | int) and not re.match(LANGUAGE, path[-1] if path else "")
        owner += f"{thing} `{shorten(name)}`: " if is_named else f"entry {part + 1} of {_path(path)}: "
        path = []
    return f"{owner}{_path(path)}" if path or not owner else owner.removesuffix(": ")


def _path(parts: Sequence[str]) -> str:
    return f"`{'.'.join(parts)}`" if parts else "the file"


def _existing_parts(location: Location, value: Any) -> Iterator[tuple[str | int, Any]]:
    """Existing parts of a location with their values, and a missing last key; without union branches."""
    for position, part in enumerate(location):
        is_there = part < len(value) if isinstance(value, list) and isinstance(part, int) else False
        if is_there or (isinstance(value, dict) and part in value):
            value = value[part]
        elif position + 1 < len(location) or not isinstance(value, dict) or str(part).startswith(BRANCHES):
            continue
        yield part, value


def keys(kind: Any, location: Location) -> Iterator[str]:
    """Keys allowed at a location, derived from the type."""
    for model in _models_at(kind, location):
        yield from model.model_fields


def _describe(model: type[BaseModel], location: Location) -> str:
    """The first description of the key that a location ends in; empty where it has none."""
    *at, key = [part for part in location if not str(part).startswith(BRANCHES)] or [""]
    own = (describe_fields(one).get(str(key)) for one in _models_at(model, tuple(at)))
    return next(filter(None, own), "")


def _models_at(kind: Any, location: Location) -> Iterator[type[BaseModel]]:
    kinds = [kind]
    for part in location:
        # parts that are pydantic's union branches are not in the file and are skipped
        kinds = [inner for kind in kinds for inner in _inside(kind, part)] or kinds
    for option in (option for kind in kinds for option in _options(kind)):
        if isinstance(option, type) and issubclass(option, BaseModel):
            yield option


def _options(kind: Any) -> Iterator[Any]:
    if get_origin(kind) is Annotated:
        yield from _options(get_args(kind)[0])
    elif get_origin(kind) is Union or type(kind).__name__ == "UnionType":
        for option in get_args(kind):
            yield from _options(option)
    else:
        yield kind


def _inside(kind: Any, part: str | int) -> Iterator[Any]:
    for option in _options(kind):
        origin, inner = get_origin(option), get_args(option)
        if isinstance(option, type) and issubclass(option, BaseModel) and part in option.model_fields:
            yield option.model_fields[str(part)].annotation
        elif origin is tuple and isinstance(part, int):
            yield inner[0]
        elif origin is dict and not str(part).startswith(BRANCHES):
            yield inner[1]


def _pattern(problem: Mapping[str, Any]) -> tuple[str, str]:
    pattern = problem["ctx"]["pattern"]
    return PATTERNS.get(pattern, (f"does not match `{pattern}`", CORRECT))


def _reason(problem: Mapping[str, Any]) -> str:
    kind = problem["type"]
    if kind in REASONS:
        return REASONS[kind](problem.get("ctx", {}))
    wanted = KINDS.get(kind.partition("_")[0])
    return f"must be {wanted}" if wanted else str(problem["msg"]).replace("Input should", "must")
