"""Options of runs, each declared once: commands, flows with their forms, and the Python interface derive from it.

Loads neither pydantic nor Prefect: the command line lists its options before it needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from functools import cache, reduce, wraps
from inspect import Parameter, Signature, cleandoc
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from biasgrid.catalogs.choices import Gate

O = TypeVar("O")  # noqa: E741 - a class of options
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Option:
    """How one option is named and explained."""

    flags: tuple[str, ...]
    """On the command line; none for an argument."""
    help: str
    """On the command line; empty where it has none."""
    doc: str
    """In a flow's form."""
    section: str
    """The section of a target or interaction file whose value it replaces."""
    cli: Any
    """Its type on the command line, where that is another."""
    read: Callable[[Any], Any] | None
    """From the value on the command line to its own."""
    more: Mapping[str, Any]
    """Passed on to Typer, such as `min`."""


def option(
    default: Any,
    flags: str = "",
    help: str = "",  # noqa: A002
    doc: str = "",
    *,
    section: str = "",
    **more: Any,
) -> Any:
    """A field of a class of options. `flags` are separated by spaces; `more`: `cli`, `read`, Typer's own."""
    cli, read = more.pop("cli", None), more.pop("read", None)
    spec = Option(tuple(flags.split()), help, doc, section, cli, read, more)
    return field(default=default, metadata={"option": spec})


def replace_option(options: type, name: str, **changes: Any) -> Any:
    """A field as another class declares it, with changes such as another `doc`."""
    spec = next(each for each in fields(options) if each.name == name)
    own: Option = spec.metadata["option"]
    default = changes.pop("default", spec.default)
    return field(default=default, metadata={"option": replace(own, **changes)})


def seed_option(chooses: str, given: str) -> Any:
    """`chooses`: what the seed does; `given`: where it stands otherwise."""
    begins = chooses[0].upper() + chooses[1:]
    return option(None, "--seed", f"{begins}.", f"{chooses}; None: {given}", section="asking", min=0)


class Options:
    """A class of options: a frozen dataclass whose fields are each an `option`."""

    def pick(self, *names: str) -> dict[str, Any]:
        """The options of these names, as `expand_names` lists them, that were given."""
        listed = expand_names(type(self), " ".join(names))
        return {name: value for name in listed if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """What every kind of run may be given; None leaves a value as the file has it."""

    models: list[str] | None = option(None)
    max_cost: float | None = option(
        None,
        "--max-cost",
        "US dollars that the run may spend; then it stops.",
        "US dollars that the run may spend",
        section="asking",
    )
    max_requests: int | None = option(
        None,
        "--max-requests",
        "Requests that the run may send; then it stops.",
        "requests that the run may send",
        section="asking",
    )
    max_age: str | None = option(
        None,
        "--max-age",
        "With `--reuse all`: how old a reply may be, such as `12h` or `7d`.",
        "with `reuse: all`, how old a reply of another run may be, such as `7d`; None: of any age",
        section="asking",
    )
    patience: str | None = option(
        None,
        "--patience",
        "How long a provider that is away is asked again, such as `10m`; else 2 minutes.",
        "how long a provider that is away is asked again, such as `10m`; None: as the file has it, mostly `2m`",
        section="asking",
    )
    expectations: bool = option(
        False,
        "--expectations",
        "Replace the warehouse only if lake and marts are as expected, as `warehouse check` does.",
        "the new warehouse replaces the old one only if lake and marts are as expected",
    )
    data: str | None = option(
        None,
        "--data",
        "Where lake and warehouse lie; else `BIASGRID_DATA`, else `data`.",
        "directory or `s3://bucket/prefix` of lake and warehouse; None: `BIASGRID_DATA`, or `data`",
        metavar="DIR|s3://…|gs://…|az://…",
    )
    run_id: str | None = option(None)
    gate: Gate = option(
        "point",
        "--gate",
        "What the exit code goes by: the `point` rate, as LangBiTe's, or what the interval has `decided`.",
    )
    yes: bool = option(False, "--yes -y", "Do not ask before money is spent.")

    @property
    def in_file(self) -> dict[tuple[str, str], tuple[str, Any]]:
        """What was given, as (option, value) by the section and key of a file that it replaces."""
        return {
            (spec.section, name): (spec.flags[0], value)
            for name, spec in list_options(type(self)).items()
            if spec.section and (value := getattr(self, name)) is not None
        }

    @property
    def file_values(self) -> dict[str, Any]:
        """What was given in place of a file's values, by name."""
        return {name: value for (_, name), (_, value) in self.in_file.items()}


def list_options(options: type) -> dict[str, Option]:
    """The options of a class, by name."""
    assert is_dataclass(options)  # noqa: S101 - every class of options is one
    return {each.name: each.metadata["option"] for each in fields(options)}


def list_settings(options: type) -> list[str]:
    """Names of the options that replace a value of a file."""
    return [name for name, spec in list_options(options).items() if spec.section]


def expand_names(options: type, names: str) -> list[str]:
    """The names in this order; `*` stands for the options that replace a value of a file and are not named."""
    named = names.split()
    unnamed = [name for name in list_settings(options) if name not in named]
    return [name for each in named for name in (unnamed if each == "*" else [each])]


def command(options: type[O], names: str, **defaults: Any) -> Callable[[Callable[[O], None]], Callable[..., None]]:
    """Makes a function of options a Typer command that takes those of `expand_names`; `word:name` has another
    word on the command line; `defaults` of `...` are required."""

    def decorate(work: Callable[[O], None]) -> Callable[..., None]:
        listed = expand_names(options, names)
        taken = {word: name or word for word, _, name in (each.partition(":") for each in listed)}

        @wraps(work)
        def run(**words: Any) -> None:
            known = list_options(options)
            given = {taken[word]: value for word, value in words.items()}
            work(options(**{name: _from_words(known[name], value) for name, value in given.items()}))

        _describe(run, (_word(options, name, defaults).replace(name=word) for word, name in taken.items()), None)
        return run

    return decorate


def flow_parameters(
    options: type[O], names: str, **defaults: Any
) -> Callable[[Callable[[O], Coroutine[Any, Any, R]]], Callable[..., Coroutine[Any, Any, R]]]:
    """Makes a function of options the function of a flow that takes those of `expand_names` and explains them in
    its form. Raises TypeError for others."""

    def decorate(work: Callable[[O], Coroutine[Any, Any, R]]) -> Callable[..., Coroutine[Any, Any, R]]:
        @wraps(work)
        async def start(*args: Any, **named: Any) -> R:
            return await work(options(**signature.bind(*args, **named).arguments))

        known, taken = list_options(options), expand_names(options, names)
        signature = _describe(start, (_plain_parameter(options, name, defaults) for name in taken), work)
        explained = "\n".join(f"    {name}: {known[name].doc}" for name in taken if known[name].doc)
        start.__doc__ = f"{cleandoc(work.__doc__ or '')}\n\nArgs:\n{explained}" if explained else work.__doc__
        return start

    return decorate


def keywords(options: type, names: str, first: Sequence[Parameter]) -> Signature:
    """The signature of a Python function that takes these options by keyword, after its `first` parameters."""
    more = (_plain_parameter(options, name, {}) for name in expand_names(options, names))
    return Signature([*first, *(each.replace(kind=Parameter.KEYWORD_ONLY) for each in more)])


def _describe(function: Any, parameters: Iterator[Parameter], work: Any) -> Signature:
    """Typer reads a function's annotations, Prefect its signature."""
    own = list(parameters)
    returned = get_type_hints(work)["return"] if work else None
    function.__signature__ = Signature(own, return_annotation=returned)
    function.__annotations__ = {each.name: each.annotation for each in own} | {"return": returned}
    return Signature(own)


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def _plain_parameter(options: type, name: str, defaults: Mapping[str, Any]) -> Parameter:
    """As Python has it; a required one is never None."""
    kind, default = _types(options)[name], _default(options, name, defaults)
    if default is Parameter.empty:
        kind = reduce(or_, (each for each in get_args(kind) if each is not NoneType)) if get_args(kind) else kind
    return _parameter(name, kind, default)


def _default(options: type, name: str, defaults: Mapping[str, Any]) -> Any:
    if name in defaults:
        return Parameter.empty if defaults[name] is ... else defaults[name]
    return next(each.default for each in fields(options) if each.name == name)


@cache
def _types(options: Any) -> dict[str, Any]:
    return get_type_hints(options)


def _word(options: type, name: str, defaults: Mapping[str, Any]) -> Parameter:
    """The parameter of a command."""
    import typer

    spec, default = list_options(options)[name], _default(options, name, defaults)
    kind = spec.cli or _types(options)[name]
    about = {"help": spec.help, **spec.more}
    shown = typer.Option(*spec.flags, **about) if spec.flags else typer.Argument(**about)
    kind, default = _with_choices(name, kind, default)
    if kind is bool and default is None:
        default = False
    return _parameter(name, Annotated[kind, shown], default)


def _with_choices(name: str, kind: Any, default: Any) -> tuple[Any, Any]:
    """Literals as enumerations, which Typer also takes in lists."""
    bare = [each for each in get_args(kind) if each is not NoneType] if get_origin(kind) is UnionType else [kind]
    inner = get_args(bare[0])[0] if get_origin(bare[0]) is list else bare[0]
    if get_origin(inner) is not Literal:
        return kind, default
    choices = StrEnum(name, {value: value for value in get_args(inner)})  # type: ignore[misc]
    found: Any = list[choices] if get_origin(bare[0]) is list else choices
    return (found | None if len(bare) != 1 or bare[0] is not kind else found), choices(
        default
    ) if default else default


def _from_words(spec: Option, value: Any) -> Any:
    """A command's value as flows take it: text for paths and choices, None for empty lists and absent switches."""
    if spec.read:
        return spec.read(value)
    if isinstance(value, list):
        return [_from_words(spec, one) for one in value] or None
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    return (value or None) if spec.cli is bool else value


def same(value: Any) -> Any:
    """For options whose value on the command line is already their own, such as a path."""
    return value


def number_or_names(given: list[str] | None) -> int | list[str] | None:
    """A number where that is all that is given, else names."""
    if given and len(given) == 1 and given[0].removeprefix("-").isdecimal():
        return int(given[0])
    return given or None


def names_in_one(given: str | None) -> list[str] | None:
    """The names that commas separate."""
    return None if given is None else [name.strip() for name in given.split(",")]


def source_option(help: str, called: str) -> Any:  # noqa: A002 - as typer calls it
    """The option that names a run's file, which is `called` so."""
    doc = f"the path of {called} that the worker reads, or its content as JSON"
    return option(None, "", help, doc, cli=Path | None, show_default=False)


@dataclass(frozen=True, kw_only=True)
class TargetOptions(RunOptions):
    """What may be given with a target file."""

    target: str | dict[str, Any] | None = source_option(
        "A target file: a model or a chatbot, and what is asked of it.", "a target file"
    )
    models: list[str] | None = option(
        None, "--model", "`provider/model`; may be repeated. Replaces the target's.", section="target"
    )
    pairs: int | list[str] | None = option(
        None,
        "--pairs",
        "How many attribute pairs, or one by name; then it may be repeated.",
        "how many attribute pairs, or which ones; None: as the target has it",
        cli=list[str] | None,
        read=number_or_names,
    )
    axes: list[str] | None = option(None, "--axis", "Pairs of this axis, such as `gender`; may be repeated.")
    languages: list[str] | None = option(None, "--language", "Such as `en_us`; may be repeated.", section="target")
