"""Defines the base of all catalog types (immutable, unknown keys refused) and the checks that they share."""

import ast
import inspect
import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticKnownError, core_schema


def slug(text: str) -> str:
    """Latin letters and digits, joined by hyphens: `ACME Beratung` is `acme-beratung`; empty if none is left."""
    bare = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", bare).strip("-")


def _check_integer(given: Any) -> Any:
    if isinstance(given, bool):
        raise PydanticKnownError("int_type")
    return given


def _check_number(given: Any) -> Any:
    if isinstance(given, bool):
        raise PydanticKnownError("float_type")
    return given


NUMBER_CHECKS = {"int": _check_integer, "float": _check_number}


def refuse_bools(part: Any, model: type) -> Any:
    """A part of a model's schema whose numbers are never `true`: `tolerance: true` would be 100%, as it is 1 to
    Python. Models within it have seen to theirs."""
    if isinstance(part, list | tuple):
        return type(part)(refuse_bools(inner, model) for inner in part)
    if not isinstance(part, dict) or part.get("cls", model) is not model:
        return part
    kind = part.get("type")  # or a field of that name
    if isinstance(kind, str) and kind in NUMBER_CHECKS:
        return core_schema.no_info_before_validator_function(NUMBER_CHECKS[kind], part)
    return {name: refuse_bools(inner, model) for name, inner in part.items()}


class Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        defer_build=True,  # one command reads few of the files whose types it imports
        allow_inf_nan=False,
        coerce_numbers_to_str=True,  # communities such as ages are written as numbers
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        own: CoreSchema = refuse_bools(handler(source), cls)
        return own

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        own = handler(schema)
        properties = handler.resolve_ref_schema(own).get("properties", {})
        meanings = describe_fields(cls)
        for name, field in cls.model_fields.items():
            if name in meanings:
                properties[field.alias or name].setdefault("description", meanings[name])
        return own


@cache
def describe_fields(model: type[BaseModel]) -> Mapping[str, str]:
    """The docstring below each field, inherited ones too. Pydantic would read the source of every class while it
    is imported, which takes as long as all else that a type needs."""
    found: dict[str, str] = {}
    for own in reversed(model.__mro__):
        if issubclass(own, Frozen) and own is not Frozen:  # a field that is declared again is described again
            found |= dict.fromkeys(inspect.get_annotations(own), "") | dict(_docstrings(own))
    return {name: meaning for name, meaning in found.items() if meaning}


def _docstrings(model: type[Frozen]) -> Iterator[tuple[str, str]]:
    (definition,) = ast.parse(dedent(inspect.getsource(model))).body
    for field, below in pairwise(getattr(definition, "body", [])):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)


NAMED = Discriminator(lambda given: "name" if isinstance(given, str) else "mapping")
"""Chooses between a name and a mapping, tagged so that only errors of one of them are reported."""

Text = Annotated[str, Field(min_length=1)]
PLACE = re.compile(r"\{(\w+)\}")
"""A placeholder of a wording; other braces, such as JSON's, are text."""
Value = TypeVar("Value", bound=Hashable)
Mapped = TypeVar("Mapped", bound=Mapping[Any, Any])


def fill_placeholders(text: str, words: Mapping[str, str]) -> str:
    """The text with each `{name}` replaced in one pass, so that inserted text is not searched again."""
    return PLACE.sub(lambda found: words.get(found[1], found[0]), text)


def check_placeholders(text: str, required: Iterable[str], optional: Iterable[str] = (), title: str = "") -> str:
    """The text; raises ValueError if a placeholder is missing or unknown."""
    found = set(PLACE.findall(text))
    lacking = [f"`{{{name}}}`" for name in required if name not in found]
    unknown = [f"`{{{name}}}`" for name in sorted(found - {*required, *optional})]
    if lacking:
        raise ValueError(f"{title}lacks {', '.join(lacking)}")
    if unknown:
        raise ValueError(f"{title}holds {', '.join(unknown)}, which nothing fills")
    return text


def holds(*required: str, optional: Iterable[str] = ()) -> AfterValidator:
    """Requires placeholders of a text."""
    return AfterValidator(lambda text: check_placeholders(text, required, optional))


def check_keys(text: str, keys: Iterable[str], title: str = "") -> str:
    """The text; raises ValueError if it does not name each JSON key in double quotes."""
    lacking = [key for key in keys if f'"{key}"' not in text]
    if lacking:
        raise ValueError(f"{title}does not name `{'`, `'.join(lacking)}`, each in double quotes")
    return text


def complete(names: Any) -> AfterValidator:
    """Requires each value of a Literal as a key of a mapping."""

    def check(given: Mapped) -> Mapped:
        if lacking := [name for name in get_args(names) if name not in given]:
            raise ValueError(f"lacks `{'`, `'.join(lacking)}`")
        return given

    return AfterValidator(check)


def find_repeated(values: Iterable[Value]) -> list[Value]:
    """The values that occur more than once, each once."""
    return [value for value, times in Counter(values).items() if times > 1]


def unique(message: str) -> AfterValidator:
    """Refuses a value that occurs twice; the message names them at `{}`."""

    def check(values: tuple[str, ...]) -> tuple[str, ...]:
        if repeated := find_repeated(values):
            raise ValueError(message.format("`, `".join(repeated)))
        return values

    return AfterValidator(check)


LANGUAGE = r"^[a-z]{2,3}_[a-z]{2}$"
IDENTIFIER = r"^[a-z0-9][a-z0-9_.-]*$"
MARKUP = r"^[A-Z][A-Z_]*$"
Language = Annotated[str, Field(pattern=LANGUAGE, examples=["en_us"])]
COMMUNITY = r"^[a-z0-9][a-z0-9_.+-]*$"
LONGEST_ID = 120
Identifier = Annotated[str, Field(pattern=IDENTIFIER, max_length=LONGEST_ID)]
Share = Annotated[float, Field(ge=0, le=1)]
UNIQUE = unique("holds `{}` more than once")
