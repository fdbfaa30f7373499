"""Audits: whether a system decides differently about the same document when only the identity differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from biasgrid.catalogs.choices import Reuse
from biasgrid.catalogs.errors import Problem
from biasgrid.flows.runs.kinds import RunKind, Source
from biasgrid.flows.runs.options import RunOptions, option, replace_option, seed_option, source_option

if TYPE_CHECKING:
    from biasgrid.catalogs.scenario.audit import ResolvedAudit
    from biasgrid.flows.audit.forecast import AuditForecast
    from biasgrid.flows.audit.outcome import AuditOutcome
    from biasgrid.warehouse.storage.lake import Lake

    Base = RunKind[ResolvedAudit, AuditForecast, AuditOutcome]
else:
    Base = RunKind


file_option = partial(option, section="audit")


@dataclass(frozen=True, kw_only=True)
class AuditOptions(RunOptions):
    """What may be given with an audit file."""

    audit: str | dict[str, Any] | None = source_option(
        "An audit file: which system decides about which documents.", "an audit file"
    )
    models: list[str] | None = file_option(
        None,
        "--model",
        "`provider/model`; may be repeated. Replaces the file's.",
        "`provider/model` names; None: as the file has it",
    )
    pairs: int | None = file_option(
        None,
        "--pairs",
        "Pairs of identities that each document is given.",
        "pairs of identities that each document is given; None: as the file has it",
        min=2,
    )
    repeats: int | None = file_option(
        None,
        "--repeats",
        "How often each prompt is asked.",
        "how often each prompt is asked; None: as the file has it",
        min=1,
        max=100,
    )
    margin: float | None = file_option(
        None,
        "--margin",
        "Points that groups may be apart; else nothing is met.",
        "points that groups may be apart; None: as the file has it",
    )
    seed: int | None = seed_option("draws identities and spreads them over documents", "the file's")
    reuse: Reuse | None = option(None, "--reuse", "Which earlier replies stand in for asking.", section="asking")
    batch: bool | None = option(
        None,
        "--batch/--no-batch",
        "Ask through batch APIs where providers have one: cheaper, within a day.",
        "ask through the providers' batch APIs, for less money and later; None: as the file has it",
        section="asking",
    )
    run_id: str | None = replace_option(
        RunOptions, "run_id", doc="resumes this unfinished audit and ignores `audit`"
    )


class AuditKind(Base):
    """The same documents with matched identities."""

    name = "audit"
    command = "audit"
    source = "audit"
    keys = frozenset({"audit"})
    called = "an audit file"
    blank: ClassVar = None
    trace = "biasgrid.flows.audit.decision_trace:trace_decision"
    labels: ClassVar = {"requirement": "group", "template": "document", "case": "decision"}
    reader = "biasgrid.flows.audit.flow:read_stored"
    resolver = "biasgrid.catalogs.scenario.audit:resolve_audit"
    options = AuditOptions
    folders = ("identities",)
    lacks = ("pictures",)
    has_documents = True
    table = ("audit-shifts", "shifts")
    pages = ("biasgrid.tasks.report.html.audit_pages:write_audit_page", "report.html")
    words = (
        "audit models pairs repeats margin seed reuse max_age patience max_cost max_requests batch data "
        "expectations yes"
    )
    parameters = (
        "audit models pairs repeats margin max_cost max_requests seed reuse max_age batch patience expectations "
        "data run_id"
    )
    help = """See whether your system decides differently about people: the same documents, other identities.

    Each document is sent with names, pronouns or affiliations of matched people of two groups; what the system
    decides is compared pair by pair, with documents and names as clusters. `biasgrid prepare` shows beforehand
    what of each document is replaced. It is no audit under Local Law 144 or any statute.

    Exit codes: 0 no difference shown (with a margin: shown to be within it), 1 a difference is shown or could not
    be evaluated, 2 an error to correct, 3 incomplete, 4 not proven to be within the margin, 130 interrupted (go on
    with `biasgrid resume`).

    Example: `biasgrid audit applications.yaml`
    """

    def resolve(
        self, source: Source, given: RunOptions, inspect: Callable[[ResolvedAudit], Iterable[Problem]]
    ) -> ResolvedAudit:
        from biasgrid.flows.runs.prepare import batching_notices

        found = super().resolve(source, given, inspect)
        return replace(found, notices=batching_notices(found.targets.values(), found.settings))

    def problems(self, resolved: ResolvedAudit) -> Iterable[Problem]:
        from biasgrid.flows.runs.prepare import batching_mistakes

        yield from batching_mistakes(resolved.asked, resolved.settings)
        for target in resolved.asked:
            if target.endpoint and target.endpoint.remembers != "none":
                what = f"`{target.model}` keeps its conversations: one decision would know of the others"
                yield Problem(what, "audit.models", "describe it with `remembers: none`, or leave it out")

    def is_upper_bound(self, expected: AuditForecast, resolved: ResolvedAudit, lake: Lake | None) -> bool:
        """Until the run has looked for replies of other runs."""
        return resolved.settings.reuse == "all" and lake is not None


AUDIT = AuditKind()
