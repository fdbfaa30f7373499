"""Reads our template files, YAML or JSON lines: validates each entry, resolves named oracles and adds twins."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from biasgrid.catalogs.errors import Problem, UserError, nearest, place
from biasgrid.catalogs.loading.documents import Document, sound_part, validate
from biasgrid.catalogs.loading.pydantic_errors import Location, list_problems
from biasgrid.catalogs.loading.tables import numbered_lines
from biasgrid.catalogs.schema.entries import Template, TemplateEntry, TemplateFields, TemplateFile, Twin
from biasgrid.catalogs.schema.languages import LanguageCatalog
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.catalogs.schema.respondents import Controls
from biasgrid.catalogs.wording import slots, stray_paraphrases

OTHER_INPUT = {"constrained": "verbose", "verbose": "constrained"}


def read_templates(
    document: Document, languages: Mapping[str, LanguageCatalog], library: str = "shipped"
) -> tuple[tuple[Template, ...], list[Problem]]:
    """The templates of a YAML file, each followed by its twin, with stand-ins for what is invalid; every error."""
    try:
        file = validate(TemplateFile, document)
    except UserError as wrong:
        return (), list(wrong.mistakes)
    spoken = languages.get(file.language)
    oracles = spoken.oracles if spoken else None
    templates: dict[str, Template] = {}
    mistakes: list[Problem] = []
    for index, entry in enumerate(file.templates):
        at = ("templates", index)
        try:
            read = validate(TemplateEntry, document, entry, at)
            found = list(_written_out(read, file, library, document, at, oracles))
        except UserError as wrong:
            sound, further = _sound_template(entry, file, document, at, oracles)
            mistakes.extend(dict.fromkeys([*wrong.mistakes, *further]))
            found = [sound] if sound else []
        for template in found:
            if template.id in templates:
                what = f"template `{template.id}` stands on line {templates[template.id].line} too"
                mistakes.append(Problem(what, document.place(*at), "give each its own id"))
            templates.setdefault(template.id, template)
    return tuple(templates.values()), mistakes


def _sound_template(
    entry: Mapping[str, object],
    file: TemplateFile,
    document: Document,
    at: Location,
    oracles: Mapping[str, Oracle] | None,
) -> tuple[Template | None, list[Problem]]:
    """An invalid entry with stand-ins for what is wrong in it, for further checks, and its further errors."""
    own_id = {"id": f"entry-{int(at[-1]) + 1}"}
    sound = sound_part(TemplateEntry, entry, own_id | STAND_INS)
    if sound is None:
        return None, []
    if sound.input != entry.get("input"):
        sound = sound.model_copy(update=own_id)  # so that no twin is compared with the stand-in
    found: list[Problem] = []
    oracle = Oracle.model_validate(STAND_INS["oracle"])
    try:
        oracle = _oracle(sound.oracle, oracles, document, at)
        _may_be_reworded(sound, oracle, document, at)
    except UserError as wrong:
        found += wrong.mistakes
    placed = {"oracle": oracle, "twin": None, "language": file.language, "concern": file.concern}
    line = document.line(at)
    return Template(**{**dict(sound), **placed}, library=document.name, file=document.name, line=line), found


STAND_INS = {
    "input": "constrained",
    "reflection": "observational",
    "prompt": "?",
    "oracle": {"operation": "allEqualExpected", "expected": ["No"]},
}
"""Of a template, where its own values are invalid."""


def _written_out(
    entry: TemplateEntry,
    file: TemplateFile,
    library: str,
    document: Document,
    at: Location,
    oracles: Mapping[str, Oracle] | None,
) -> Iterator[Template]:
    """The template of an entry, and that of its twin if it has one."""
    oracle = _oracle(entry.oracle, oracles, document, at)
    _may_be_reworded(entry, oracle, document, at)
    placed = {
        **dict(entry),
        "oracle": oracle,
        "language": file.language,
        "concern": file.concern,
        "library": library,
        "file": document.name,
        "line": document.line(at),
    }
    twin = entry.twin
    if not isinstance(twin, Twin):
        yield Template(**placed)
        return
    other = oracle if twin.oracle is None else _oracle(twin.oracle, oracles, document, (*at, "twin"))
    differing = {"id": twin.id, "format": twin.format, "answers": twin.answers, "oracle": other}
    yield Template(**placed | {"twin": twin.id})
    yield Template(**placed | differing | {"input": OTHER_INPUT[entry.input], "twin": entry.id})


def _oracle(
    written: Oracle | str, oracles: Mapping[str, Oracle] | None, document: Document, at: Location
) -> Oracle:
    """The oracle of a template; `oracles` are its language's, None if that was not read."""
    if isinstance(written, Oracle):
        return written
    if oracles is None:
        raise UserError(no_catalog(document.value["language"], document.place(*at)))
    if written not in oracles:
        remedy = nearest(written, oracles) or "name one of the language's `oracles`, or write it out"
        raise UserError(Problem(f"oracle `{written}` is unknown", document.place(*at, "oracle"), remedy))
    return oracles[written]


NO_CATALOG = "language `{}` has no catalog, so that its templates cannot be framed"


def no_catalog(language: str, where: str) -> Problem:
    """Error of a language that no file describes."""
    remedy = f"add languages/{language}.yaml to a directory that BIASGRID_CATALOG names"
    return Problem(NO_CATALOG.format(language), where, remedy)


def unknown_rules(
    controls: Mapping[str, Controls],
    languages: Mapping[str, LanguageCatalog],
    documents: Mapping[tuple[str, str], Document],
) -> Iterator[Problem]:
    """Errors of a judge's controls that name an oracle which their language does not have."""
    for name, file in controls.items():
        if name not in languages:
            yield no_catalog(name, documents["controls", name].place("id"))
            continue
        for index, control in enumerate(file.controls):
            try:
                _oracle(control.oracle, languages[name].oracles, documents["controls", name], ("controls", index))
            except UserError as unknown:
                yield from unknown.mistakes


def _may_be_reworded(entry: TemplateEntry, oracle: Oracle, document: Document, at: Location) -> None:
    """Raises UserError if a paraphrase asks about other communities or its numbers would be compared."""
    wrong = [
        astray(entry, number, document.place(*at, "paraphrases", number - 1))
        for number in stray_paraphrases(entry)
    ]
    if entry.paraphrases and oracle.type == "same value":
        wrong.append(incomparable(entry, document.place(*at, "paraphrases")))
    if wrong:
        raise UserError(wrong)


def incomparable(template: TemplateFields, where: str) -> Problem:
    """Error of a same-value template with paraphrases, since the wording's effect would count as spread."""
    what = f"template `{template.id}` compares numbers, and has paraphrases, which may move them too"
    return Problem(what, where, "make each wording a template of its own")


def astray(template: TemplateFields, number: int, where: str) -> Problem:
    """Error of a paraphrase (counted from 1) that asks about other communities than the prompt."""
    named = ", ".join(f"`{{{slot.name}}}`" for slot in slots(template.prompt)) or "no markup"
    what = f"paraphrase {number} of template `{template.id}` has other markups than its prompt"
    return Problem(what, where, f"use {named}, each in a form of your choice")


LINES_SUFFIX = ".jsonl"


def read_lines(text: str, path: Path) -> tuple[tuple[Template, ...], list[Problem]]:
    """The templates of the non-blank lines, with stand-ins for what is invalid, and every error."""
    templates: dict[tuple[str, str], Template] = {}
    mistakes: list[Problem] = []
    for number, line in numbered_lines(text):
        try:
            read = Template.model_validate_json(line)
        except ValidationError as error:
            found = list_problems(error, Template, _key)
            mistakes.extend(replace(each, where=place(path, number)) for each in found)
            sound = _sound_line(line, number, error)
            if sound is None:
                continue
            read = sound
        where = {"library": str(path), "file": str(path), "line": number}
        mistakes.extend(_check_paraphrases(read, place(path, number)))
        template = templates.setdefault((read.language, read.id), read.model_copy(update=where))
        if template.line != number:
            what = f"template `{read.id}` stands on line {template.line} too"
            mistakes.append(Problem(what, place(path, number), "give each its own id"))
    return tuple(templates.values()), mistakes


def _sound_line(line: str, number: int, error: ValidationError) -> Template | None:
    """An invalid line with stand-ins for what is wrong in it, for further checks."""
    if error.errors()[0]["type"] == "json_invalid" or not isinstance(entry := json.loads(line), dict):
        return None
    own_id = {"id": f"line-{number}"}
    sound = sound_part(Template, entry, own_id | STAND_INS)
    if sound is None:
        return None
    # no twin is compared with a stand-in
    return sound.model_copy(update={"twin": None} | (own_id if sound.input != entry.get("input") else {}))


def _check_paraphrases(template: Template, where: str) -> Iterator[Problem]:
    yield from (astray(template, number, where) for number in stray_paraphrases(template))
    if template.paraphrases and template.oracle.type == "same value":
        yield incomparable(template, where)


def template_line(template: Template) -> str:
    """A template as a line that `read_lines` reads back unchanged; without its source location."""
    return template.model_dump_json(exclude_defaults=True, exclude={"library", "file", "line"})


def _key(location: Location) -> str:
    return f"`{'.'.join(map(str, location))}`" if location else "the line"
