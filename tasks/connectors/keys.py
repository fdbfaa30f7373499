"""Looks API keys up in environment variables, then in a secret store; keys are never kept or shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import orjson

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Target

Secrets = Callable[[str], str | None]
"""Value of a secret by its name, such as `openai-api-key`, or None."""
Place = tuple[str, Callable[[], str | None]]


@dataclass(frozen=True, slots=True)
class _Secret:
    """One secret of a model."""

    names: tuple[str, ...]
    """Environment variables that may contain it."""
    header: str = ""
    """Header of an endpoint that sends it; the value may then contain blanks."""


def find_key(target: Target, secrets: Secrets | None = None) -> str | None:
    """The target's key, an endpoint's values as one JSON object, or None if no key is needed. Raises UserError."""
    needs = list(_find_secrets(target))
    found = {need.names[0]: _search(need, target, secrets) for need in needs}
    missing = [_missing_problem(need, [target], secrets) for need in needs if found[need.names[0]] is None]
    if missing:
        raise UserError(missing)
    if target.endpoint is not None:
        return orjson.dumps(found).decode() if found else None
    return next(iter(found.values()), None)


def missing_keys(targets: Iterable[Target], secrets: Secrets | None = None) -> list[Problem]:
    """One problem per missing or unusable key, with the models that need it."""
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


def missing_recordings(targets: Iterable[Target]) -> list[Problem]:
    """The problems of recordings that cannot be played back, before a run begins."""
    found: list[Problem] = []
    for target in targets:
        if target.connector == "replay":
            from biasgrid.tasks.connectors.providers.replay import read_recording  # loads Polars

            try:
                read_recording(target.name)
            except UserError as broken:
                found += broken.mistakes
    return found


def secret_name(variable: str) -> str:
    """Name of the Prefect Secret block for an environment variable: `openai-api-key` for `OPENAI_API_KEY`."""
    return variable.lower().replace("_", "-")


def _find_secrets(target: Target) -> Iterator[_Secret]:
    if target.key_env:
        yield _Secret(target.key_env)
    if target.endpoint is not None:
        for name, header in dict(target.endpoint.variables()).items():
            yield _Secret((name,), header)


def _search(need: _Secret, target: Target, secrets: Secrets | None) -> str | None:
    for place, read in _list_places(need, secrets):
        key = (read() or "").strip()
        # an HTTP library quotes a header that it cannot send, including the key
        if key and not (key.isascii() and key.isprintable() and (need.header or " " not in key)):
            what = f"the key for `{target.model}` holds a space, a line break or a letter that no key has"
            raise UserError(Problem(what, place, "copy it again"))
        if len(key) > 1 and key[0] == key[-1] and key[0] in "\"'`":
            what = f"the key for `{target.model}` stands in quotes, which would be sent with it"
            raise UserError(Problem(what, place, "set it without the quotes"))
        if re.match(r"\$|[A-Z][A-Z_]+=", key):
            what = f"the key for `{target.model}` is the name of a variable, not its value"
            raise UserError(Problem(what, place, "set it to the key itself"))
        if key:
            return key
    return None


def _list_places(need: _Secret, secrets: Secrets | None) -> list[Place]:
    """Places of a key in search order, each with its read function."""
    places: list[Place] = [
        (f"environment variable `{name}`", partial(os.environ.get, name)) for name in need.names
    ]
    if secrets is not None:
        blocks = map(secret_name, need.names)
        places += [(f"Prefect Secret block `{block}`", partial(secrets, block)) for block in blocks]
    return places


def _missing_problem(need: _Secret, targets: list[Target], secrets: Secrets | None) -> Problem:
    models = ", ".join(dict.fromkeys(f"`{target.model}`" for target in targets))
    searched = ", ".join(place for place, _ in _list_places(need, secrets))
    wanted = f"no value of `${{{need.names[0]}}}` for header `{need.header}` of" if need.header else "no key for"
    return Problem(
        f"{wanted} {models}; searched: {searched}", remedy=f"set {need.names[-1]}{_langbite_name(need)}"
    )


LANGBITE_NAMES = {
    "OPENAI_API_KEY": "API_KEY_OPENAI",
    "HF_TOKEN": "API_KEY_HUGGINGFACE",
    "REPLICATE_API_TOKEN": "API_KEY_REPLICATE",
}
"""How LangBiTe calls the same keys."""


def _langbite_name(need: _Secret) -> str:
    name = next((LANGBITE_NAMES[each] for each in need.names if each in LANGBITE_NAMES), "")
    if not name:
        return ""
    return f" (LangBiTe's `{name}`, which is set and is not read)" if os.environ.get(name) else ""
