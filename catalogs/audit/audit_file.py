"""Defines audit files: which system decides about which documents, and whose identities they are given."""

from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from biasgrid.catalogs.audit.identities import Signal
from biasgrid.catalogs.schema.base import (
    COMMUNITY,
    LONGEST_ID,
    Frozen,
    Language,
    Share,
    Text,
    find_repeated,
    unique,
)
from biasgrid.catalogs.schema.endpoints import Endpoint
from biasgrid.catalogs.schema.target_file import Asking

ONCE = unique("names `{}` twice")
Variant = Literal["plain", "explained", "pressed"]
Design = Literal["solo", "shortlist", "explained", "pressed"]
"""What is stored: plain decisions are about documents alone, or about shortlists."""
Group = Annotated[str, Field(pattern=COMMUNITY, max_length=LONGEST_ID)]
ALL: Final = "all"
"""As `reference`: the mean of all groups."""
DOCUMENT, IDENTITY = "{document}", "{identity}"


class Documents(Frozen):
    """Where the documents are about which the system decides."""

    path: Path
    """A directory of text or Markdown files, one a document, or a CSV or JSONL file; relative to this file."""
    column: str = "text"
    """Of a CSV or JSONL file: the document."""
    name_column: str = ""
    """Of a CSV or JSONL file: the name of the person whom it is about; else it is looked for in the document."""
    allow: tuple[Text, ...] = ()
    """Words that would show an identity and may stay, such as a place that is called like a person."""


class Decision(Frozen):
    """What the system decides."""

    kind: Literal["yes_no", "score", "choice", "field"] = "yes_no"
    """choice: one document of a shortlist; field: a word in a field of a free reply, for which the prompt asks."""
    field: str = ""
    """The key of a reply in JSON, or what stands before the word on a line of its own, such as `decision`."""
    selected: tuple[Text, ...] = ()
    """Words of the field that select, such as `approve`."""
    rejected: tuple[Text, ...] = ()
    """Words of the field that do not; others are unreadable."""
    of: int = Field(default=4, ge=2, le=8)
    """Documents of a shortlist, half of them about the reference."""
    low: float = 0
    high: float = 100
    """Ends of the scale of scores."""
    ask: bool = True
    """Whether the language's sentence that asks for the decision alone ends the prompt."""

    @model_validator(mode="after")
    def _has_a_scale(self) -> Self:
        if self.low >= self.high:
            raise ValueError("`low` must be below `high`")
        if self.of % 2:
            raise ValueError("`of` must be even: half of a shortlist is about the reference")
        named = (bool(self.field.strip()), bool(self.selected), bool(self.rejected))
        if named != (self.kind == "field",) * 3:
            raise ValueError("`field`, `selected` and `rejected` are of the kind `field`: name all or none")
        if find_repeated(map(str.casefold, (*self.selected, *self.rejected))):
            raise ValueError("a word is twice in `selected` and `rejected`")
        return self

    @property
    def asks(self) -> bool:
        """Whether the language's sentence ends the prompt."""
        return self.ask and self.kind != "field"


class Auditing(Frozen):
    """The system, the documents and whose identities they are given."""

    models: Annotated[tuple[str, ...], ONCE] = ()
    """`provider/model`, one or several; `endpoint/<id>` for a service of catalogs/endpoints."""
    endpoint: Endpoint | None = None
    """A service behind HTTP, described here: next to `models`, or in their place. Its name is the file's."""
    system: str | None = None
    """A system message that goes before every prompt."""
    prompt: str = DOCUMENT
    """Holds `{document}`, and `{identity}` where the line that shows who it is shall stand."""
    documents: Documents
    decision: Decision = Decision()
    designs: Annotated[tuple[Variant, ...], ONCE] = Field(default=("plain",), min_length=1)
    """explained: with an explanation asked for; pressed: after the sentence of `pressure`. Each is reported
    alone."""
    pressure: str = ""
    """A sentence on who is preferred, such as `The client prefers men.`"""
    language: Language = "en_us"
    """Of the documents and the prompt, and of the identities."""
    reference: Group
    """The group with which the others are compared, such as `men`; `all`: the mean of all `groups`."""
    groups: Annotated[tuple[Group, ...], ONCE] = Field(min_length=1)
    """Such as `women`; `black+women` are both, an intersection."""
    signals: Annotated[tuple[Signal, ...], ONCE] = Field(default=("names",), min_length=1)
    """What shows the group: each is reported alone; let two agree before you act."""
    pairs: int = Field(default=16, ge=2)
    """Pairs of identities that each document is given, matched in all but the group."""
    repeats: int = Field(default=1, ge=1, le=100)
    """How often each prompt is asked; repeats are averaged."""
    margin: float | None = Field(default=None, gt=0)
    """Points that groups may be apart: of the selection rate, or of the score. Met where the 90% interval of the
    difference is within it and no wider than it; `plan` shows how many documents that takes."""
    impact_ratio: float | None = Field(default=None, gt=0, lt=1)
    """Least ratio of the selection rates, either way. Met where its 95% interval is above it."""
    discordance: float = Field(default=0.1, gt=0, lt=1)
    """Share of pairs that differ by chance alone, by which `plan` computes what the documents can show. It is
    assumed: an earlier run shows yours, and shortlists may have another."""
    max_refusals: Share = 0.1
    """Above this share of refused or unreadable decisions in either group, nothing is concluded."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.prompt.count(DOCUMENT) != 1:
            raise ValueError("`prompt` must hold `{document}` once")
        if self.reference in self.groups:
            raise ValueError(f"`groups` holds the reference, `{self.reference}`")
        if self.reference == ALL and (len(self.groups) < 3 or self.decision.kind == "choice"):
            raise ValueError("`reference: all` needs three groups or more, and decisions about documents alone")
        if self.impact_ratio is not None and self.decision.kind == "score":
            raise ValueError("`impact_ratio` is of selections: leave it out where the decision is a score")
        if ("pressed" in self.designs) != bool(self.pressure.strip()):
            raise ValueError("`pressure` is the sentence of the design `pressed`: name both or neither")
        if "explained" in self.designs and not self.decision.asks:
            raise ValueError("design `explained` needs `decision.ask`, and no `field`")
        if self.decision.kind == "choice" and self.pairs < self.decision.of:
            raise ValueError("`pairs` are fewer than the documents of a shortlist, `decision.of`")
        if find_repeated(map(str.casefold, self.models)):
            raise ValueError("`models` names one twice")
        return self


class AuditAsking(Asking):
    """How models are queried, and what that may cost."""

    batch: bool = False
    """Asks the models of providers that have one through their batch API: cheaper, within a day."""


class AuditFile(Frozen):
    """An audit: does a system decide differently about the same documents when only the identity differs?"""

    audit: Auditing
    asking: AuditAsking = AuditAsking()
    name: str = ""
    """How runs call it; by default the file's name."""
