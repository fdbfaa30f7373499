"""The chatbot that a target file describes itself: a model that goes by the file's name."""

from __future__ import annotations

from collections.abc import Container

from catalogs.endpoints import Endpoint
from catalogs.mistakes import Mistake, UserMistake
from catalogs.models import Target, endpoint_target
from catalogs.slug import slug


def own_chatbot(name: str, endpoint: Endpoint, others: Container[str], where: str) -> Target:
    """As the model `endpoint/<name>`. Raises UserMistake where one of the `others` is called so, too."""
    own = endpoint_target(slug(name) or "chatbot", endpoint)
    if own.model in others:
        what = f"`{own.model}` is in `models`, and the file's own chatbot would be called so, too"
        raise UserMistake(Mistake(what, where, "give the file another `name`"))
    return own
