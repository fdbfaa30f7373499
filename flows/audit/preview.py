"""What an audit replaces in its documents and sends in their place, for a person to check."""

from __future__ import annotations

from collections.abc import Iterator

from biasgrid.catalogs.scenario.audit import ResolvedAudit
from biasgrid.tasks.audit.prompts import list_prompts
from biasgrid.tasks.report.model import Row, Section, Table, headings, numbers


def preview_sections(resolved: ResolvedAudit, *, every: bool = False) -> Iterator[Section]:
    """What is replaced in documents, one document with its slots, and a prompt of each group and signal."""
    rows = [
        Row((one.text, one.slot, f"{one.times:,}"), document.id)
        for document in resolved.documents
        for one in document.masked.replaced
    ]
    unchanged = [one.id for one in resolved.documents if not one.masked.replaced]
    lines = [f"nothing is replaced in: {', '.join(unchanged)}"] if unchanged else []
    table = Table((*headings("text", "slot"), *numbers("times")), rows)
    yield Section(f"Replaced in {len(resolved.documents):,} documents", table if rows else None, lines)
    for document in resolved.documents if every else resolved.documents[:1]:
        yield Section(f"{document.id}, with slots", lines=document.masked.text.splitlines())
    yield from _prompts(resolved)


def _prompts(resolved: ResolvedAudit) -> Iterator[Section]:
    """The first prompt of each design, signal and group, whole."""
    seen: set[tuple[str, str, str]] = set()
    for prompt in list_prompts(resolved):
        key = (prompt.design, prompt.signal, prompt.group)
        if key not in seen:
            seen.add(key)
            shown = [prompt.members[0].identity.shown] if len(prompt.members) == 1 else []
            title = " · ".join(["Sent", *(key if prompt.design != "solo" else key[1:]), *shown])
            yield Section(title, lines=prompt.text.splitlines())
