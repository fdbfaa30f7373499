"""Imports recorded replies: tables and JSON lines with prompt and reply, LangBiTe's responses, chat logs."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from biasgrid.catalogs.errors import Problem, UserError, place
from biasgrid.catalogs.importers.result import Imported, NotTheFormat, RecordedReply, at, refuse
from biasgrid.catalogs.loading.tables import numbered_lines, read_table

PROMPTS: Final = ("prompt", "instance", "input", "question", "query", "instruction", "user", "message", "request")
REPLIES: Final = (
    *("response", "reply", "output", "completion", "answer", "generation", "generated_text", "model_output"),
    *("assistant", "text"),
)
"""Column names, case-insensitive; the first one present is used."""
LOGS: Final = ("messages", "conversations", "conversation")
MODELS: Final = ("model", "model_name", "model_id")
ROLES: Final = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant"}
"""Aliases of roles in chat logs."""


def read(text: str, file: str, _language: str) -> Imported:
    """Replies of a file; raises NotTheFormat if it has no prompts or no replies."""
    entries = _lines(text, file) if text.lstrip().startswith(("{", "[")) else _cells(text, file)
    replies: list[RecordedReply] = []
    refused: list[Problem] = []
    lines: list[int] = []
    rows = 0
    for line, entry in entries:
        rows += 1
        try:
            value = entry if isinstance(entry, Mapping) else json_or_none(str(entry))
            if not isinstance(value, Mapping):
                raise refuse("is no JSON object", "write one JSON object a line")
            replies.append(_reply(value))
            lines.append(line)
        except UserError as wrong:
            refused += at(place(file, line), wrong.mistakes)
    notices = tuple(_doubles(replies, lines, file))
    return Imported(file, rows, replies=tuple(replies), refused=tuple(refused), lost=len(refused), notices=notices)


def _cells(text: str, file: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    found = read_table(text, file)
    lacking = [
        f"replies ({', '.join(REPLIES)})" if names is REPLIES else f"prompts ({', '.join(PROMPTS)})"
        for names in (PROMPTS, REPLIES)
        if not set(names) & set(found.header)
    ]
    if lacking and not set(LOGS) & set(found.header):
        what = f"has no column for {' and none for '.join(lacking)}"
        raise NotTheFormat(Problem(what, found.place, "name a table of prompts and replies"))
    for row in found.rows():
        logs = {name: json_or_none(row.cells[name]) for name in LOGS if row.cells.get(name, "").strip()}
        yield row.line, {**row.cells, **logs}


def _lines(text: str, file: str) -> Iterator[tuple[int, Any]]:
    """Numbered JSON lines, or the entries of a JSON list numbered from 1."""
    if text.lstrip().startswith("["):
        entries = json_or_none(text)
        if not isinstance(entries, list):
            raise NotTheFormat(Problem("is not valid JSON", file, "write a list of objects, or one a line"))
        return iter(list(enumerate(entries, 1)))
    numbered = numbered_lines(text)
    first = json_or_none(numbered[0][1])
    whole = json_or_none(text) if first is None else None
    if isinstance(whole, dict):
        return iter([(numbered[0][0], _one_entry(whole, file))])
    keys = {str(key).lower() for key in first} if isinstance(first, dict) else set()
    if not keys & set(LOGS) and not (keys & set(PROMPTS) and keys & {*REPLIES, "choices"}):
        what = "its first line has neither a log (messages) nor a prompt and a reply"
        raise NotTheFormat(Problem(what, place(file, numbered[0][0]), "write one JSON object a line"))
    return iter(numbered)


def _one_entry(whole: dict[str, Any], file: str) -> dict[str, Any]:
    """A file that is one JSON object over several lines; raises NotTheFormat if its entries are within it."""
    if {str(key).lower() for key in whole} & {*LOGS, *PROMPTS}:
        return whole
    lists = ", ".join(f"`{key}`" for key, value in whole.items() if isinstance(value, list))
    what = "is one JSON object with neither a log (messages) nor a prompt and a reply"
    remedy = f"save its list {lists} as a file of its own" if lists else "write one JSON object a line"
    raise NotTheFormat(Problem(what, file, remedy))


def json_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None


def _reply(entry: Mapping[str, Any]) -> RecordedReply:
    fields = {str(key).lower(): value for key, value in entry.items()}
    prompt, response = _conversation(fields)
    if not prompt.strip():
        raise refuse("has no prompt", "add it, or remove the row")
    if response is None:
        raise refuse("has no reply", "add it, or remove the row")
    return RecordedReply(
        prompt, response, _model(fields), _sample(fields.get("sample")), _text(fields, ("finish_reason",))
    )


def _conversation(fields: Mapping[str, Any]) -> tuple[str, str | None]:
    """The prompt and the last reply of an entry; a log with a single question gives the question without roles."""
    log = next((fields[name] for name in LOGS if isinstance(fields.get(name), list)), None)
    answered = _text(fields, REPLIES) or _first_choice(fields.get("choices"))
    if log is None:
        return _text(fields, PROMPTS) or "", answered
    turns = [_turn(turn) for turn in log]
    if answered is None and turns and turns[-1][0] == "assistant":
        answered = turns.pop()[1]
    if len(turns) == 1:
        return turns[0][1], answered
    # the form in which a conversation is sent to a model that takes one text
    return "\n\n".join([f"{role}: {text}" for role, text in turns] + ["assistant:"]) if turns else "", answered


def _turn(turn: Any) -> tuple[str, str]:
    own = turn if isinstance(turn, dict) else {}
    role = str(own.get("role", own.get("from", "")))
    content = own.get("content", own.get("value"))
    if isinstance(content, list):  # content parts; only text is used
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not role or not isinstance(content, str):
        raise refuse("its log has a turn without role or text", "write role and content")
    return ROLES.get(role, role), content


def _first_choice(choices: Any) -> str | None:
    """The reply of an OpenAI response body, or None."""
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = first.get("message")
    content = message.get("content") if isinstance(message, dict) else first.get("text")
    return content if isinstance(content, str) and content.strip() else None


def _text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Text of the first name present, or None if it is empty or not a text."""
    found = next((fields[name] for name in names if name in fields), None)
    return found if isinstance(found, str) and found.strip() else None


def _model(fields: Mapping[str, Any]) -> str | None:
    model, provider = _text(fields, MODELS), _text(fields, ("provider",))
    if model is None or provider is None or model.startswith(f"{provider}/"):
        return model
    return f"{provider}/{model}"


def _sample(value: Any) -> int | None:
    return int(value) if str(value).isdecimal() else None


def _doubles(replies: list[RecordedReply], lines: list[int], file: str) -> Iterator[str]:
    """Notices of prompts with several replies, which become samples in the order of the file."""
    counts = Counter((reply.model, reply.prompt) for reply in replies if reply.sample is None)
    first: dict[tuple[str | None, str], int] = {}
    for reply, line in zip(replies, lines, strict=True):
        key = (reply.model, reply.prompt)
        at_line = first.setdefault(key, line)
        if at_line == line and counts[key] > 1:
            yield f"{place(file, line)}: {counts[key]} replies to one prompt, kept as its samples in this order"
