"""Templates of concerns that no file describes: no requirement of the catalog asks them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from biasgrid.catalogs.errors import Problem, close_names, nearest, place
from biasgrid.catalogs.schema.entries import Concern, Template


def unknown_concerns(templates: Collection[Template], concerns: Mapping[str, Concern]) -> Iterator[Problem]:
    """One for each file and concern, not one per template."""
    strange = [template for template in templates if template.concern not in concerns]
    counts = Counter((template.file, template.concern) for template in strange)
    names = {name.lower(): c.id for c in concerns.values() for name in (c.id, c.name, *c.aliases)}
    first = {(template.file, template.concern): template for template in reversed(strange)}
    for key, count in counts.items():
        template = first[key]
        what = f"concern `{template.concern}` is unknown ({count} template{'' if count == 1 else 's'})"
        own = f"keep it if it is your own; known: {', '.join(sorted(concerns))}"
        close = close_names(template.concern, names, names)
        remedy = nearest(template.concern, names, names) if close else own
        yield Problem(what, place(template.file, template.line), remedy)
