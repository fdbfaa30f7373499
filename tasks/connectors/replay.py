"""Replies recorded elsewhere, played back: a CSV or Parquet file in place of a model.

The model is named `replay/<path>`, or `replay/<path>#<model>` where the file holds replies of several.
A reply is found by `request_key`, else by the exact text of the prompt; a prompt's rows are its samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from catalogs.mistakes import Mistake, UserMistake, nearest
from catalogs.schema import Target
from tasks.connectors.base import Connector, Reply, Request, RequestRejected
from tasks.connectors.chat import as_prompt

if TYPE_CHECKING:
    from catalogs.catalog import Catalog

TEXT = ("text", "response", "reply")
PROMPT = ("prompt", "instance")
"""Without regard to case, so LangBiTe's responses (Provider, Model, Instance, Response) are read as they are."""

Rows = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Recording:
    path: str
    replies: tuple[Reply, ...]
    by_key: Rows
    by_prompt: Rows


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Reads the file. Raises UserMistake where it is missing, unreadable, or lacks the columns."""
    return Replay(read_recording(target.name))


class Replay:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    async def ask(self, request: Request) -> Reply:
        """Raises RequestRejected where nothing was recorded for this prompt, or not so many samples."""
        recording = self._recording
        keyed = recording.by_key.get(request.request_key)
        if keyed:
            return recording.replies[keyed[0]]
        prompt = as_prompt(request.messages)
        rows = recording.by_prompt.get(prompt, [])
        if request.sample <= len(rows):
            return recording.replies[rows[request.sample - 1]]
        held = f"{len(rows)} replies to" if rows else "no reply to"
        raise RequestRejected(f"`{recording.path}` holds {held} sample {request.sample} of {_begin(prompt)!r}")

    async def close(self) -> None:
        return None


def read_recording(name: str) -> Recording:
    """The replies in a file, by key and by prompt. `name` is a path, with `#<model>` where one is chosen."""
    path, model = (name, "") if Path(name).exists() else name.partition("#")[::2]
    frame = _read(path)
    frame = frame.rename({column: column.lower() for column in frame.columns if column.lower() != column})
    text = _text_column(frame, path)
    frame = _of_model(frame, path, model).filter(pl.col(text).is_not_null())
    if "sample" in frame.columns:
        frame = frame.sort(pl.col("sample").cast(pl.Int64, strict=False), maintain_order=True)
    prompt = next((column for column in PROMPT if column in frame.columns), None)
    prompts = _joined_messages(frame) if prompt is None else frame.get_column(prompt).cast(pl.String)
    return Recording(path, _replies(frame, text), _rows(_column(frame, "request_key")), _rows(prompts))


def _read(path: str) -> pl.DataFrame:
    readers = {
        # an empty field is an empty reply: whoever wrote the row had got one
        ".csv": lambda: pl.read_csv(path, infer_schema=False, empty_string_is_null=False, glob=False),
        ".parquet": lambda: pl.read_parquet(path, glob=False, hive_partitioning=False),
    }
    reader = readers.get(Path(path).suffix.lower())
    if reader is None:
        raise UserMistake(
            Mistake(f"`{path}` is neither CSV nor Parquet", "replay", "name a .csv or .parquet file")
        )
    try:
        return reader()
    except (OSError, pl.exceptions.PolarsError) as failed:
        reason = (
            "does not exist" if isinstance(failed, FileNotFoundError) else f"cannot be read: {_begin(str(failed))}"
        )
        raise UserMistake(Mistake(f"`{path}` {reason}", "replay", "name a file of recorded replies")) from None


def _text_column(frame: pl.DataFrame, path: str) -> str:
    text = next((column for column in TEXT if column in frame.columns), None)
    askable = {"request_key", "messages", *PROMPT} & set(frame.columns)
    if text is None or not askable:
        needed = f"one of {', '.join(TEXT)}" if text is None else "one of request_key, prompt, instance, messages"
        raise UserMistake(
            Mistake(
                f"`{path}` has no column for {'replies' if text is None else 'prompts'}",
                "replay",
                f"name {needed}",
            )
        )
    return text


def _of_model(frame: pl.DataFrame, path: str, model: str) -> pl.DataFrame:
    """The rows of one model. Two models' replies to a prompt are not samples of each other."""
    if "model" not in frame.columns:
        return frame
    short = pl.col("model").fill_null("")
    full = (
        pl.concat_str("provider", "model", separator="/", ignore_nulls=True)
        if "provider" in frame.columns
        else short
    )
    held = sorted(set(frame.select(short.unique()).to_series().to_list()))
    if model:
        chosen = frame.filter((short == model) | (full == model))
        if chosen.is_empty():
            raise UserMistake(Mistake(f"`{path}` holds no replies of `{model}`", "replay", nearest(model, held)))
        return chosen
    if len(held) > 1:
        remedy = f"choose one: replay/{path}#{held[0]}; it holds {', '.join(held)}"
        raise UserMistake(Mistake(f"`{path}` holds replies of {len(held)} models", "replay", remedy))
    return frame


def _joined_messages(frame: pl.DataFrame) -> pl.Series | None:
    """What was sent, where it was recorded as a list of messages, as this project's own lake does."""
    if "messages" not in frame.columns:
        return None
    single = pl.col("messages").list.first().struct.field("content")
    turn = pl.concat_str(pl.element().struct.field("role"), pl.lit(": "), pl.element().struct.field("content"))
    several = pl.concat_str(pl.col("messages").list.eval(turn).list.join("\n\n"), pl.lit("\n\nassistant:"))
    one = pl.col("messages").list.len() == 1
    return frame.select(pl.when(one).then(single).otherwise(several).alias("prompt")).to_series()


def _replies(frame: pl.DataFrame, text: str) -> tuple[Reply, ...]:
    texts = frame.get_column(text).cast(pl.String)
    finishes = _column(frame, "finish_reason")
    models = _column(frame, "model")
    return tuple(
        Reply(said, finish or None, model_reported=model or None)
        for said, finish, model in zip(texts, finishes, models, strict=True)
    )


def _column(frame: pl.DataFrame, name: str) -> pl.Series:
    if name in frame.columns:
        return frame.get_column(name).cast(pl.String)
    return pl.Series(name, [None] * frame.height, dtype=pl.String)


def _rows(keys: pl.Series | None) -> Rows:
    if keys is None:
        return {}
    numbered = keys.to_frame("key").with_row_index("row").filter(pl.col("key").is_not_null())
    grouped = numbered.group_by("key", maintain_order=True).agg("row")
    return dict(zip(grouped["key"], grouped["row"].to_list(), strict=True))


def _begin(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
