"""API keys: environment variables first, then a store of secrets. They are returned, never kept or shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import orjson

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Target

Secrets = Callable[[str], str | None]
"""A secret's value by its name, such as `openai-api-key`; None where there is none."""
Place = tuple[str, Callable[[], str | None]]


@dataclass(frozen=True, slots=True)
class _Secret:
    """One secret of a model."""

    names: tuple[str, ...]
    """Environment variables that may hold it."""
    header: str = ""
    """Of an endpoint, where it is sent; it may then hold blanks."""


def find_key(target: Target, secrets: Secrets | None = None) -> str | None:
    """The target's key, or an endpoint's values as one JSON object; None where it needs none. Raises UserError."""
    needs = list(_find_secrets(target))
    found = {need.names[0]: _search(need, target, secrets) for need in needs}
    missing = [_missing_problem(need, [target], secrets) for need in needs if found[need.names[0]] is None]
    if missing:
        raise UserError(missing)
    if target.endpoint is not None:
        return orjson.dumps(found).decode() if found else None
    return next(iter(found.values()), None)


def missing_keys(targets: Iterable[Target], secrets: Secrets | None = None) -> list[Problem]:
    """One mistake per key that cannot be found or used, naming the models that need it."""
    sharing: dict[_Secret, list[Target]] = {}
    for target in targets:
        for need in _find_secrets(target):
            sharing.setdefault(need, []).append(target)
    mistakes: list[Problem] = []
    for need, group in sharing.items():
        try:
            if _search(need, group[0], secrets) is None:
                mistakes.append(_missing_problem(need, group, secrets))
        except UserError as unusable:
            mistakes.extend(unusable.mistakes)
    return mistakes


def secret_name(variable: str) -> str:
    """The name of the Prefect Secret block for an environment variable: `openai-api-key` for `OPENAI_API_KEY`."""
    return variable.lower().replace("_", "-")


def _find_secrets(target: Target) -> Iterator[_Secret]:
    if target.key_env:
        yield _Secret(target.key_env)
    if target.endpoint is not None:
        for name, header in dict(target.endpoint.variables()).items():
            yield _Secret((name,), header)


def _search(need: _Secret, target: Target, secrets: Secrets | None) -> str | None:
    for place, look in _list_places(need, secrets):
        key = (look() or "").strip()
        if key:
            return _check_sendable(key, place, target, need)
    return None


def _list_places(need: _Secret, secrets: Secrets | None) -> list[Place]:
    """The places of a key in search order, each with a function that reads it."""
    names = need.names
    variables: list[Place] = [(f"environment variable `{name}`", partial(os.environ.get, name)) for name in names]
    if secrets is None:
        return variables
    blocks: list[Place] = [
        (f"Prefect Secret block `{secret_name(n)}`", partial(secrets, secret_name(n))) for n in names
    ]
    return [*variables, *blocks]


def _check_sendable(key: str, place: str, target: Target, need: _Secret) -> str:
    # an HTTP library quotes a header that it cannot send, and with it the key
    if key.isascii() and key.isprintable() and (need.header or " " not in key):
        return key
    what = f"the key for `{target.model}` holds a space, a line break or a letter that no key has"
    raise UserError(Problem(what, place, "copy it again"))


def _missing_problem(need: _Secret, targets: list[Target], secrets: Secrets | None) -> Problem:
    models = ", ".join(dict.fromkeys(f"`{target.model}`" for target in targets))
    searched = ", ".join(place for place, _ in _list_places(need, secrets))
    wanted = f"no value of `${{{need.names[0]}}}` for header `{need.header}` of" if need.header else "no key for"
    return Problem(f"{wanted} {models}; searched: {searched}", remedy=f"set {need.names[-1]}")
