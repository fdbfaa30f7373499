"""Maps the records of a log to samples: a path for each field, such as `resps.0.0`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.logs.files import Record, Tree
from biasgrid.catalogs.text_safety import excerpt

FIELDS: Final[Mapping[str, str]] = {
    "prompt": "what the model was asked: a text, or messages with role and content",
    "reply": "what it replied",
    "model": "the model, as provider/model",
    "item": "what the prompt is called, the same for every model and repetition",
    "sample": "which repetition of the prompt it is, from 1",
    "score": "the score that decides",
    "reason": "why the score is what it is",
    "concern": "what the prompt is about",
    "cluster": "which prompts belong together in the statistics",
    "language": "language and country, such as en_us",
    "target": "the expected reply",
    "error": "why there is no reply",
    "finish_reason": "why the reply ended",
    "parameters": "what was sent with the prompt, such as temperature",
    "input_tokens": "tokens of the prompt",
    "output_tokens": "tokens of the reply",
    "cost_usd": "what the reply cost",
    "latency_ms": "how long it took",
    "received_at": "when it came",
}
"""Fields of a sample, with what each one is."""

Messages = list[dict[str, str]]
Path = tuple[str, ...]
SHOWN: Final = 12


def split_path(path: str) -> Path:
    """The keys of a path: names, and positions in lists."""
    return tuple(path.split("."))


def find(tree: Any, path: Path) -> Any:
    """The value at a path, None where there is none. A key may hold dots itself."""
    for place, key in enumerate(path):
        if isinstance(tree, dict):
            rest = ".".join(path[place:])
            if len(path) - place > 1 and rest in tree:
                return tree[rest]
            tree = tree.get(key)
        elif isinstance(tree, list) and key.lstrip("-").isdecimal() and -len(tree) <= int(key) < len(tree):
            tree = tree[int(key)]
        else:
            return None
    return tree


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Where each field of a sample stands in a record: `given` by the user, else as the tool writes it."""

    given: Mapping[str, str]
    own: Mapping[str, str]
    found: set[str] = field(default_factory=set)
    """Fields with a value in at least one record."""

    def samples(self, records: Iterable[tuple[str, Tree]]) -> Iterator[tuple[str, Tree, dict[str, Any]]]:
        """Place, record and sample of each record."""
        names: dict[str, str] = {}
        paths: list[tuple[str, Path]] = []
        for name, path in {**self.own, **self.given}.items():
            if "." in path or path in names:
                paths.append((name, split_path(path)))
            else:
                names[path] = name
        found = self.found
        for where, tree in records:
            sample = {names[key]: value for key, value in tree.items() if key in names and value is not None}
            for name, keys in paths:
                if (value := find(tree, keys)) is not None:
                    sample[name] = value
            if not found.issuperset(sample):
                found.update(sample)
            yield where, tree, sample

    def refuse_absent(self, first: Tree | None) -> None:
        """Raises UserError for fields that were named and found in no record, or that every sample needs."""
        needed = [] if "messages" in self.found else ["prompt"]
        needed += [] if self.found & {"reply", "error"} else ["reply"]
        lacking = [name for name in [*self.given, *needed] if name not in self.found]
        keys = ", ".join(f"`{excerpt(key, 40)}`" for key in [*list_paths(first or {})][:SHOWN])
        if lacking:
            raise UserError(
                Problem(
                    f"no record has `{self.given[name]}`" if name in self.given else f"no record has a {name}",
                    f"--{name.replace('_', '-')}-field",
                    f"name where the {name} stands: a record has {keys}",
                )
                for name in dict.fromkeys(lacking)
            )


def list_paths(tree: Tree, before: str = "") -> Iterator[str]:
    """Paths of the values of a record, objects within it opened twice."""
    for key, value in tree.items():
        if isinstance(value, dict) and value and before.count(".") < 2:
            yield from list_paths(value, f"{before}{key}.")
        elif isinstance(value, list) and value and not isinstance(value[0], dict):
            yield f"{before}{key}.0"
        else:
            yield f"{before}{key}"


def as_messages(prompt: Any) -> Messages:
    """A prompt as messages; the model's own messages at its end are left out."""
    if isinstance(prompt, str):
        return _decode_chat(prompt) or [{"role": "user", "content": prompt}]
    if isinstance(prompt, list) and prompt and all(isinstance(turn, dict) and "role" in turn for turn in prompt):
        turns = [{"role": str(turn["role"]), "content": as_text(turn.get("content"))} for turn in prompt]
        while len(turns) > 1 and turns[-1]["role"] == "assistant":
            turns.pop()
        return turns
    if isinstance(prompt, list) and len(prompt) == 1:
        return as_messages(prompt[0])
    return [{"role": "user", "content": as_text(prompt)}]


def _decode_chat(prompt: str) -> Messages | None:
    """Messages that a log holds as a JSON text."""
    if not prompt.startswith("[{"):
        return None
    try:
        turns = orjson.loads(prompt)
    except orjson.JSONDecodeError:
        return None
    is_chat = isinstance(turns, list) and all(isinstance(turn, dict) and "role" in turn for turn in turns)
    return as_messages(turns) if is_chat else None


def as_text(value: Any) -> str:
    """A text as it is, the texts of content parts joined, and anything else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(part, dict) and "text" in part for part in value):
        return "".join(str(part["text"]) for part in value)
    return orjson.dumps(value).decode()


def keep_sound(records: Iterable[Record], broken: list[Problem]) -> Iterator[tuple[str, Tree]]:
    """The records that can be read; the problems of the others are added to `broken`."""
    for where, tree in records:
        if isinstance(tree, Problem):
            broken.append(tree)
        else:
            yield where, tree
