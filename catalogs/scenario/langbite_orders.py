"""Reads LangBiTe's orders for template augmentation: JSON with concerns, contexts and the pairs to be written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from biasgrid.catalogs.errors import Problem, UserError, nearest
from biasgrid.catalogs.loading.documents import read_document, validate
from biasgrid.catalogs.schema.base import Frozen


class _Context(Frozen):
    context: str
    scenarios: tuple[str, ...] = ()


class _Concern(Frozen):
    concern: str
    markup: str = ""
    communities: object = None


class _Pair(Frozen):
    context: str
    concern: str


class _Orders(Frozen):
    language: str = "en_us"
    llm: str = ""
    num_templates: int = Field(default=10, ge=1, le=200)
    additional_instructions: str | tuple[str, ...] = ""
    concerns: tuple[_Concern, ...] = ()
    contexts: tuple[_Context, ...] = ()
    augmentations: tuple[_Pair, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class LangbiteOrder:
    """One pair of concern and context; `situation`: the context's scenarios and further instructions, in words."""

    model: str
    language: str
    concern: str
    context: str
    situation: str
    count: int


def read_orders(path: Path) -> tuple[LangbiteOrder, ...]:
    """The orders of a file, each with the alias of its model. Raises UserError."""
    document = read_document(path)
    given = validate(_Orders, document)
    described = {one.context.lower(): one.scenarios for one in given.contexts}
    known = {one.concern.lower() for one in given.concerns}
    strange = [one for one in given.augmentations if known and one.concern.lower() not in known]
    if strange:
        raise UserError(
            Problem(f"`concerns` has no `{one.concern}`", document.name, nearest(one.concern, known))
            for one in strange
        )
    extra = given.additional_instructions
    further = extra if isinstance(extra, str) else " ".join(extra)
    return tuple(
        LangbiteOrder(
            model=given.llm,
            language=given.language.lower(),
            concern=one.concern,
            context=one.context,
            situation="; ".join(filter(None, (*described.get(one.context.lower(), ()), further))),
            count=given.num_templates,
        )
        for one in given.augmentations
    )
