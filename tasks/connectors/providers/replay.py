"""Replays recorded replies: a CSV or Parquet file in place of a model."""

# The model is named `replay/<path>`, or `replay/<path>#<model>` if the file holds replies of several. A reply is
# found by `request_key`, else by the exact text of the prompt, else by the question in it; a prompt's rows are its
# samples.

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.loading.tables import read_table
from biasgrid.catalogs.loading.text_files import read_table_text
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, Reply, Request, RequestRejected
from biasgrid.tasks.connectors.providers.chat import as_prompt
from biasgrid.tasks.connectors.side_fields import build_reply

TEXT = ("text", "response", "reply")
PROMPT = ("prompt", "instance")
"""Column names, in any case, so that LangBiTe's responses (Provider, Model, Instance, Response) need no change."""

RowsByKey = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Recording:
    path: str
    replies: tuple[Reply, ...]
    by_key: RowsByKey
    by_prompt: RowsByKey
    has_questions: bool = False
    """Whether its prompts may be bare questions, as LangBiTe's instances are."""


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector that replays a file. Raises UserError if it is missing, unreadable, or lacks the columns."""
    return Replay(read_recording(target.name), catalog.templates)


class Replay:
    def __init__(self, recording: Recording, templates: Sequence[Template] = ()) -> None:
        self._recording = recording
        self._templates = templates

    async def ask(self, request: Request) -> Reply:
        """The recorded reply. Raises RequestRejected if there is none for this prompt, or too few samples."""
        recording = self._recording
        keyed = recording.by_key.get(request.request_key)
        if keyed:
            return recording.replies[keyed[0]]
        prompt = as_prompt(request.messages)
        rows = recording.by_prompt.get(prompt) or self._rows_of_instance(prompt)
        if request.sample <= len(rows):
            return recording.replies[rows[request.sample - 1]]
        held = f"{len(rows)} replies to" if rows else "no reply to"
        raise RequestRejected(f"`{recording.path}` holds {held} sample {request.sample} of {_shorten(prompt)!r}")

    def _rows_of_instance(self, prompt: str) -> list[int]:
        """Rows of a recording that names the bare question within the prompt, as LangBiTe's responses do.

        Where several templates ask that question, their rows follow each other as LangBiTe asks them. Raises
        RequestRejected where rows and templates do not go together."""
        held = self._recording.by_prompt if self._recording.has_questions else {}
        instance = next((each for each in _bare_questions(prompt) if each in held), "")
        rows = held.get(instance, [])
        asking = [one for one in self._templates if rows and _pattern(one.prompt).fullmatch(instance)]
        if len(asking) < 2 or len({self._recording.replies[row].text for row in rows}) < 2:
            return rows
        place = next(
            (at for at, one in enumerate(sorted(asking, key=_langbite_order)) if _asks(one, prompt)), None
        )
        if place is None or len(rows) % len(asking):
            raise RequestRejected(
                f"`{self._recording.path}` is ambiguous: {len(rows)} replies to {_shorten(instance)!r}, which "
                f"{len(asking)} templates ask"
            )
        samples = len(rows) // len(asking)
        return rows[place * samples : (place + 1) * samples]

    async def close(self) -> None:
        return None


def _bare_questions(prompt: str) -> Iterator[str]:
    """What may be the bare question of a prompt: what stands in triple quotes, or its beginning, longest first."""
    if quoted := re.search(r'(?:"""\. )?"""(.*)"""', prompt, re.DOTALL):
        yield quoted[1]
    for end in [*(found.start() for found in re.finditer(r"\s", prompt))][::-1]:
        yield prompt[:end]


def _pattern(prompt: str) -> re.Pattern[str]:
    """What a template's question is once its slots are filled."""
    return re.compile(".+".join(map(re.escape, re.split(r"\{[A-Z][A-Za-z_]*\d*(?::\w+)?\}", prompt))), re.DOTALL)


def _langbite_order(template: Template) -> tuple[str, str, int]:
    """Cell by cell, and in each in the order of the library."""
    return template.input, template.reflection, template.line or 0


def _asks(template: Template, prompt: str) -> bool:
    """Whether a prompt is framed as the template wants it."""
    return prompt.startswith(template.prefix) and template.format in prompt


def read_recording(name: str) -> Recording:
    """Replies in `<path>#<model>`, by key and by prompt. Raises UserError if it is no recording."""
    path, model = (name, "") if Path(name).suffix.lower() in READERS else name.partition("#")[::2]
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        raise _recording_error(f"`{path}` is neither CSV nor Parquet", "name a .csv or .parquet file")
    try:
        Path(path).stat()
        return _build_recording(reader(path), path, model)
    except FileNotFoundError:
        raise _recording_error(f"`{path}` does not exist", "name a file of recorded replies") from None
    except (OSError, pl.exceptions.PolarsError) as failed:
        what = f"`{path}` cannot be read: {_shorten(str(failed))}"
        raise _recording_error(what, "name a file of recorded replies") from None


def _read_csv(path: str) -> pl.DataFrame:
    """The table with an empty field as an empty reply, whatever separator and encoding a spreadsheet chose."""
    table = read_table(read_table_text(Path(path), LARGEST_RECORDING, as_is=True), path)
    # in the encoding of Polars, which reads a hundred times as fast as the csv module
    text = io.BytesIO(table.content.encode())
    return pl.read_csv(text, separator=table.separator, infer_schema=False, empty_string_is_null=False)


LARGEST_RECORDING = 2000
"""Megabytes of a table of replies."""
READERS: dict[str, Callable[[str], pl.DataFrame]] = {
    ".csv": _read_csv,
    ".parquet": partial(pl.read_parquet, glob=False, hive_partitioning=False),
}


def _build_recording(frame: pl.DataFrame, path: str, model: str) -> Recording:
    frame = frame.rename({column: column.lower() for column in frame.columns if column.lower() != column})
    text = _text_column(frame, path)
    frame = _select_model(frame, path, model).filter(pl.col(text).is_not_null())
    if "instance" in frame.columns:  # LangBiTe writes a failure next to instances of the template before
        frame = frame.filter(~pl.col(text).str.starts_with("ERROR: "))
    if "sample" in frame.columns:
        frame = frame.sort(pl.col("sample").cast(pl.Int64, strict=False), maintain_order=True)
    prompt = next((column for column in PROMPT if column in frame.columns), None)
    prompts = _joined_messages(frame) if prompt is None else frame.get_column(prompt).cast(pl.String)
    by_key = _rows(_column(frame, "request_key"))
    return Recording(path, _replies(frame, text), by_key, _rows(prompts), prompt == "instance")


def _recording_error(what: str, remedy: str) -> UserError:
    return UserError(Problem(what, "replay", remedy))


def _text_column(frame: pl.DataFrame, path: str) -> str:
    text = next((column for column in TEXT if column in frame.columns), None)
    askable = {"request_key", "messages", *PROMPT} & set(frame.columns)
    if text is None:
        raise _recording_error(f"`{path}` has no column for replies", f"name one of {', '.join(TEXT)}")
    if not askable:
        remedy = "name one of request_key, prompt, instance, messages"
        raise _recording_error(f"`{path}` has no column for prompts", remedy)
    return text


def _select_model(frame: pl.DataFrame, path: str, model: str) -> pl.DataFrame:
    """The rows of one model, as two models' replies to a prompt are not samples of each other."""
    if "model" not in frame.columns:
        return frame
    named = frame.with_columns(_full_name(frame).alias("full name"))
    held = named.get_column("full name").unique().sort().to_list()
    if model:
        named = named.filter((pl.col("model") == model) | (pl.col("full name") == model))
    chosen = named.get_column("full name").unique().sort().to_list()
    if not chosen:
        what = f"`{path}` holds no replies" + (f" of `{model}`" if model else "")
        raise _recording_error(what, nearest(model, held))
    if len(chosen) > 1:
        ways = ", ".join(f"replay/{path}#{name}" for name in chosen)
        raise _recording_error(f"`{path}` holds replies of {len(chosen)} models", f"choose one: {ways}")
    return named


def _full_name(frame: pl.DataFrame) -> pl.Expr:
    """`provider/model`, which is one column in our lake and two in LangBiTe."""
    model = pl.col("model").fill_null("")
    if "provider" not in frame.columns:
        return model
    provider = pl.concat_str(pl.col("provider").fill_null(""), pl.lit("/"))
    return pl.when(model.str.starts_with(provider)).then(model).otherwise(provider + model)


def _joined_messages(frame: pl.DataFrame) -> pl.Series | None:
    """The prompts of a recording with a column of messages."""
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
        build_reply(reply, finish_reason=finish, model_reported=model)
        for reply, finish, model in zip(texts, finishes, models, strict=True)
    )


def _column(frame: pl.DataFrame, name: str) -> pl.Series:
    if name in frame.columns:
        return frame.get_column(name).cast(pl.String)
    return pl.Series(name, [None] * frame.height, dtype=pl.String)


def _rows(keys: pl.Series | None) -> RowsByKey:
    if keys is None:
        return {}
    numbered = keys.to_frame("key").with_row_index("row").filter(pl.col("key").is_not_null())
    grouped = numbered.group_by("key", maintain_order=True).agg("row")
    return dict(zip(grouped["key"], grouped["row"].to_list(), strict=True))


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
