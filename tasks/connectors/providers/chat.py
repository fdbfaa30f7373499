"""The chat-completion protocol shared by OpenAI, Azure, Hugging Face and most servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Message, Reply, Request
from biasgrid.tasks.connectors.client.error_mapping import ErrorMapper
from biasgrid.tasks.connectors.json_objects import Body, parse_body
from biasgrid.tasks.connectors.side_fields import build_reply

OLD, NEW = "max_tokens", "max_completion_tokens"
NO_KEY = "no-key"
"""Sent to servers that need no key; otherwise SDKs send any key found in the environment."""


def as_prompt(messages: tuple[Message, ...]) -> str:
    """One text for models without messages: a single message unchanged, several with their roles."""
    if len(messages) == 1:
        return messages[0].content
    turns = [f"{message.role}: {message.content}" for message in messages]
    return "\n\n".join([*turns, "assistant:"])


def as_dicts(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def sampling_parameters(request: Request, accepted: frozenset[str]) -> dict[str, Any]:
    """The parameters that are set and accepted; None stands for the model's default."""
    given = request.parameters
    parameters = {"temperature": given.temperature, "max_tokens": given.max_tokens, "seed": given.seed}
    return {name: value for name, value in parameters.items() if value is not None and name in accepted}


def token_limit_name(url: str) -> str:
    """Name of the token limit at a server's address."""
    return NEW if urlsplit(url).hostname == "api.openai.com" else OLD


def chat_body(request: Request, name: str, accepted: frozenset[str], spelling: str) -> dict[str, Any]:
    """The body of a request, alone or in a batch."""
    parameters = sampling_parameters(request, accepted)
    if OLD in parameters:
        parameters[spelling] = parameters.pop(OLD)
    schema = request.parameters.json_schema
    if schema is not None:
        named = {"name": str(schema.get("title", "reply")), "strict": True, "schema": schema}
        parameters["response_format"] = {"type": "json_schema", "json_schema": named}
    return {"model": name, "messages": as_dicts(request.messages), **parameters}


def read_body(target: Target, raw: bytes) -> Reply:
    """The reply in a stored body. Raises as `read_completion`, and ValueError if it is no JSON object."""
    document = parse_body(raw)
    if not isinstance(document, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - of what a server sent, not of an argument
    return read_completion(Body(document, raw), ErrorMapper(target))


def read_completion(body: Body, faults: ErrorMapper) -> Reply:
    """The reply in a chat completion; a content filter is a finish reason. Raises the error that it reports, and
    ReplyMisplaced for another shape."""
    choices = body.document.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        within = choice if isinstance(choice, dict) else {}
        raise faults.find_error(body.document) or faults.find_error(within) or faults.misplace(NO_CHOICE, body.raw)
    finish = choice.get("finish_reason")
    return build_reply(
        _read_text(message, finish, body, faults),
        finish_reason=finish,
        usage=body.document.get("usage"),
        model_reported=body.document.get("model"),
        clean=faults.without_keys,
        host=faults.host,
    )


NO_CHOICE = "the reply holds no choices with a message"


def _read_text(message: Mapping[str, Any], finish: object, body: Body, faults: ErrorMapper) -> str:
    content = message.get("content")
    if content is None:
        content = message.get("refusal")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        known = [text for text in texts if isinstance(text, str)]
        content = "".join(known) if known and len(known) == len(texts) else content
    if isinstance(content, str):
        return content
    if content is None and isinstance(finish, str):
        return ""
    raise faults.find_error(body.document) or faults.misplace("the reply's message holds no text", body.raw)


USERINFO = re.compile(r"^([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE | re.DOTALL)
"""User name and password, which may contain any unescaped character."""


def base_address(target: Target, default: str = "") -> str:
    """The target's base URL. Raises UserError if it is no http address or contains a password."""
    url = target.base_url or default
    shown = USERINFO.sub(r"\1", url)
    if not _is_http(url):
        what, remedy = f"`{shown}` is no address", "give a base URL that begins with http:// or https://"
    elif "@" in urlsplit(url).netloc:
        what = f"the address `{shown}` comes with a user name or password, which is never sent,"
        remedy = "leave it out of the base URL; keys are named by `key_env`"
    else:
        return url
    where = "models.yaml or the provider's environment variable"
    raise UserError(Problem(f"{what} for `{target.model}`", where, remedy))


OWN = "https://api.openai.com/v1"


def check_address(target: Target) -> str:
    """The base URL of OpenAI, Azure or a compatible server. Raises UserError if it is no http address, or if
    Azure's api-version is missing."""
    if target.connector != "azure":
        return base_address(target, OWN)
    if not target.api_version:
        remedy = "name one at its provider, such as 2024-10-21"
        raise UserError(Problem(f"`{target.model}` has no `api_version`", "models.yaml", remedy))
    return base_address(target)


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port or IPv6 address
        return False
