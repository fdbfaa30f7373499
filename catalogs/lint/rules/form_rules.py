"""Names that a template gives and its language, its community set or its library does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from biasgrid.catalogs.errors import nearest
from biasgrid.catalogs.lint.findings import Finding, error, warning
from biasgrid.catalogs.lint.format_names import is_misspelt
from biasgrid.catalogs.lint.subject import Subject
from biasgrid.catalogs.scenario.wording import SLOT, wordings
from biasgrid.catalogs.schema.entries import CommunitySet, Template


def form_findings(subject: Subject) -> Iterator[Finding]:
    """Forms that a community lacks, formats that are no name of the language, twins that are none."""
    # where some templates could not be read, a twin may be one of them
    yield from _twins(subject.catalog.templates, all_read=not subject.reading.mistakes)
    for template in subject.spoken:
        yield from _formless(template, subject)
        yield from _misspelt_format(template, subject)


def _twins(templates: Iterable[Template], all_read: bool) -> Iterator[Finding]:
    by_id = {(template.language, template.id): template for template in templates}
    for template in by_id.values():
        if template.twin is None:
            continue
        twin = by_id.get((template.language, template.twin))
        named = f"names the twin `{template.twin}`, which"
        if twin is None and all_read:
            near = nearest(template.twin, [name for tag, name in by_id if tag == template.language])
            yield error(template, f"{named} does not exist in `{template.language}`", near)
        elif twin is not None and twin.input == template.input:
            yield error(template, f"{named} has the same input, {twin.input}", "a twin asks with the other input")


def _formless(template: Template, subject: Subject) -> Iterator[Finding]:
    """Slots that a community of the catalog has no form for. A slot without a form takes a scenario's literals."""
    text = " ".join(wording.text for wording in wordings(template, subject.language(template)))
    for slot in {match[0]: match for match in SLOT.finditer(text)}.values():
        sets = [found for found in subject.catalog.communities.values() if found.markup == slot["markup"]]
        # a set that could not be composed is told as such
        sets = [found for found in sets if found.communities]
        if not sets or (slot["form"] is None and subject.catalog.library != "shipped"):
            continue
        form = str(slot["form"] or "").lower()
        spoken = sets[0].communities[0].forms.get(template.language, {})
        if not form:
            remedy = f"add one: {', '.join(spoken)}"
            yield error(template, f"asks for `{slot[0]}` without a form", remedy)
        for found in sets if form else ():
            yield from _lacking(template, slot[0], form, found)


def _lacking(template: Template, asked: str, form: str, found: CommunitySet) -> Iterator[Finding]:
    lacking = [each.id for each in found.communities if form not in each.forms.get(template.language, {})]
    if lacking:
        named = ", ".join(f"`{name}`" for name in lacking[:8]) + (", …" if len(lacking) > 8 else "")
        what = f"asks for `{asked}`, and there is no form `{form}` of {named} in `{template.language}`"
        remedy = nearest(form, found.communities[0].forms.get(template.language, {}))
        # an intersection is asked about only where a requirement names it
        told = warning if found.intersection else error
        yield told(template, what, remedy)


def _misspelt_format(template: Template, subject: Subject) -> Iterator[Finding]:
    language = subject.language(template)
    if is_misspelt(template, language):
        what = f"names the format `{template.format}`, which is none of `{template.language}`"
        yield error(template, what, nearest(template.format, language.formats))
