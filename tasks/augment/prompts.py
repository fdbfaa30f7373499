"""Builds the request for templates from the language's own wording and the catalog."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from biasgrid.catalogs.schema.augmentation import AskedFormat, filled
from biasgrid.catalogs.schema.entries import Template
from biasgrid.tasks.augment.order import Kind, Order, Part

EXAMPLES = 3
SHOWN = 3
"""Number of communities listed after each form."""


def request_text(order: Order, part: Part) -> str:
    """The whole message for one part, the same for the same order and library."""
    wording = order.wording
    parts = {
        "count": str(part.count),
        "concern": _concern(order),
        "context": order.context.told(order.language.id),
        "scenario": "\n".join(_situation(order, part)),
        "shares": _lines(f"{count} × {_kind(order, kind)}" for kind, count in part.shares.items()),
        "forms": _lines(_forms(order)),
        "markup": ", ".join(f"`{markup}`" for markup in order.forms) or "–",
        "formats": _lines(_formats(order, part)),
        "oracles": _lines(f"`{name}`: {wording.oracles[name]}" for name in _oracles(order, part)),
        "first": _numbered(order, 1),
        "second": _numbered(order, 2),
        "examples": "\n".join(_examples(order, part)) or "–",
        "order": _order(order, part),
    }
    return filled(wording.prompt, parts).strip()


def usable(order: Order, part: Part) -> dict[str, AskedFormat]:
    """Formats of the kinds in a part; those that choose between two need a markup."""
    inputs = {kind for kind, _ in part.shares}
    return {
        name: asked
        for name, asked in order.wording.formats.items()
        if name in order.language.formats
        and asked.input in inputs
        and (not asked.pair or any(order.forms.values()))
    }


def _concern(order: Order) -> str:
    told = order.wording.concerns.get(order.concern.id)
    return told or f"{order.concern.name}. {order.concern.description}"


def _situation(order: Order, part: Part) -> Iterator[str]:
    if order.scenario:
        yield filled(order.wording.scenario, {"scenario": order.scenario})
    elif part.ideas:
        yield filled(order.wording.ideas, {"ideas": "; ".join(part.ideas)})
    if part.of > 1:
        yield filled(order.wording.part, {"part": str(part.number), "parts": str(part.of)})


def _kind(order: Order, kind: Kind) -> str:
    said, asks = kind
    return f"{said} ({order.wording.inputs[said]}), {asks} ({order.wording.reflections[asks]})"


def _forms(order: Order) -> Iterator[str]:
    for markup, forms in order.forms.items():
        for name, words in forms.items():
            yield f"{{{markup}:{name}}}: {', '.join(words[:SHOWN])}{' …' if len(words) > SHOWN else ''}"


def _numbered(order: Order, number: int) -> str:
    markup, forms = next(((markup, forms) for markup, forms in order.forms.items() if forms), ("–", {}))
    form = "person" if "person" in forms else next(iter(forms), "–")
    return f"{{{markup}{number}:{form}}}"


def _formats(order: Order, part: Part) -> Iterator[str]:
    for name, asked in usable(order, part).items():
        oracles = ", ".join(f"`{oracle}`" for oracle in asked.oracles if oracle in order.language.oracles)
        yield f"`{name}` ({asked.input}; {oracles}): {order.language.formats[name].text}"


def _oracles(order: Order, part: Part) -> list[str]:
    named = dict.fromkeys(oracle for asked in usable(order, part).values() for oracle in asked.oracles)
    return [name for name in named if name in order.language.oracles]


def _examples(order: Order, part: Part) -> Iterator[str]:
    """A few templates of the library in the requested form, selected by the seed."""

    def drawn(template: Template) -> str:
        return hashlib.blake2b(f"{order.seed} {part.number} {template.id}".encode()).hexdigest()

    shown = 0
    for template in sorted(order.library, key=drawn):
        told = _as_asked(order, part, template)
        if told is not None and shown < EXAMPLES:
            shown += 1
            yield json.dumps(told, ensure_ascii=False)


def _as_asked(order: Order, part: Part, template: Template) -> dict[str, object] | None:
    asked = usable(order, part).get(template.format)
    names = [
        name for name in (asked.oracles if asked else ()) if order.language.oracles.get(name) == template.oracle
    ]
    if not names or (template.input, template.reflection) not in part.shares:
        return None
    return {
        "input": template.input,
        "reflection": template.reflection,
        "format": template.format,
        "oracle": names[0],
        "prompt": template.prompt,
        "paraphrases": list(template.paraphrases),
        "twin": template.twin is not None and template.input == "constrained",
    }


def _order(order: Order, part: Part) -> str:
    told = {
        "order": "templates",
        "language": order.language.id,
        "concern": order.concern.id,
        "part": part.number,
        "questions": {" ".join(kind): count for kind, count in part.shares.items()},
    }
    return json.dumps(told)


def _lines(told: Iterator[str]) -> str:
    return "\n".join(f"- {line}" for line in told) or "–"
