"""The chat-completion protocol that OpenAI, Azure, Hugging Face and most servers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catalogs.mistakes import Mistake, UserMistake
from catalogs.schema import Target
from tasks.connectors.base import Message, Reply, Request
from tasks.connectors.faults import Faults

NO_KEY = "no-key"
"""Sent where a server wants none: without one the SDKs take whatever key the environment happens to hold."""


def as_prompt(messages: tuple[Message, ...]) -> str:
    """One text for models that take no messages: a single message byte for byte, several with their roles."""
    if len(messages) == 1:
        return messages[0].content
    turns = [f"{message.role}: {message.content}" for message in messages]
    return "\n\n".join([*turns, "assistant:"])


def as_dicts(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def sampling(request: Request, accepted: frozenset[str]) -> dict[str, Any]:
    """The parameters that are set and that the model accepts; nothing stands for its own default."""
    given = request.parameters
    parameters = (
        ("temperature", given.temperature),
        ("max_tokens", given.max_tokens),
        ("seed", given.seed),
    )
    return {name: value for name, value in parameters if value is not None and name in accepted}


def read_completion(body: Mapping[str, Any], faults: Faults) -> Reply:
    """The reply in a chat completion. A content filter's refusal is a reply with that finish reason.

    Raises ServerFault where the body is not a completion.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise faults.server("the reply holds no choices")
    finish = choice.get("finish_reason")
    usage = body.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    model = body.get("model")
    return Reply(
        text=_text(message, finish, faults),
        finish_reason=finish if isinstance(finish, str) else None,
        input_tokens=_count(counts.get("prompt_tokens")),
        output_tokens=_count(counts.get("completion_tokens")),
        model_reported=model if isinstance(model, str) and model else None,
    )


def _text(message: Mapping[str, Any], finish: object, faults: Faults) -> str:
    content = message.get("content")
    if content is None:
        content = message.get("refusal")
    if isinstance(content, str):
        return content
    if content is None and isinstance(finish, str):
        return ""
    raise faults.server("the reply's message holds no text")


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def address(target: Target, default: str = "") -> str:
    """Where the target is reached. Raises UserMistake where that is no http address."""
    url = target.base_url or default
    if not url.lower().startswith(("http://", "https://")):
        raise UserMistake(
            Mistake(
                f"`{url}` is no address for `{target.model}`",
                "models.yaml or the provider's environment variable",
                "give a base URL that begins with http:// or https://",
            )
        )
    return url
