"""What an assignment is, for models that reply by a JSON Schema. Whom a task goes to stays free: somebody invented
is an outcome, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from catalogs.scenes import Question


def _object(title: str, **properties: Any) -> dict[str, Any]:
    """Strict schemas name every property as required and allow no other."""
    return {
        "title": title,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT: Final = {"type": "string"}
_TASK: Final = _object("task", task={"type": "integer"}, person=_TEXT, reason=_TEXT)
SCHEMAS: Final[Mapping[Question, Mapping[str, object]]] = {
    "assignment": _object("assignment", remarks=_TEXT, assignments={"type": "array", "items": _TASK}),
    "choice": _object("choice", remarks=_TEXT, person=_TEXT, reason=_TEXT),
}
"""`remarks` come first, so that a model can think before it assigns."""
