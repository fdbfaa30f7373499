"""Open cases of one model's cells that are batched together, and landing their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Answer, ModelStopped, Request
from biasgrid.tasks.connectors.batch.lines import BatchLines
from biasgrid.tasks.connectors.client.run_budget import most_usd
from biasgrid.tasks.connectors.rows import Case, response_row, to_request
from biasgrid.tasks.prompt.reuse import read_landed, repeated_requests
from biasgrid.tasks.prompt.tally import CELL, Tally, Watch, outcome_of, record_cells
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.errors import storing
from biasgrid.warehouse.storage.journal import Journal
from biasgrid.warehouse.storage.lake import Lake

KEY = "asked_as"
"""Column with the key of a request within a job."""


@dataclass(frozen=True, slots=True)
class InputRoom:
    """Remaining capacity of one batch."""

    size: float = inf
    """Bytes of its input file."""
    requests: float = inf
    cost_usd: float = inf


@dataclass(slots=True)
class InputLoad:
    """Contents of a batch's input file so far."""

    keys: list[str] = field(default_factory=list)
    size: int = 0
    cost_usd: float = 0.0
    """Upper limit."""

    def takes(self, key: str, size: int, cost_usd: float, room: InputRoom) -> bool:
        """Adds a request if it fits; one too large for any file is added too, for the provider to reject."""
        fits = self.size + size <= room.size or not self.keys
        if not fits or len(self.keys) >= room.requests or self.cost_usd + cost_usd > room.cost_usd:
            return False
        self.keys.append(key)
        self.size += size
        self.cost_usd += cost_usd
        return True


class BatchCells:
    """Reads cases and lands answers of one model, with memory independent of the text lengths."""

    def __init__(
        self,
        lake: Lake,
        run_id: str,
        cell_ids: Sequence[str],
        target: Target,
        watch: Watch | None,
        *,
        shares: bool,
    ) -> None:
        self._lake, self._run_id, self._cell_ids = lake, run_id, tuple(cell_ids)
        self._target, self._watch, self._shares = target, watch, shares
        self._settled: set[tuple[str, str]] = set()
        self._journals: dict[str, Journal] = {}
        self._tallies: dict[str, Tally] = {}
        self._price_share = 1 - target.batch.discount if target.batch else 1.0
        self.spent_usd = 0.0
        """Cost of the landed replies; the maximum for each with unknown cost."""
        self.longest = 0
        """Output tokens of the longest reply so far, the estimate for requests without a limit."""

    def open_keys(self) -> list[str]:
        """Distinct keys without a reply, after counting landed replies and sharing known answers."""
        open_keys: dict[str, None] = {}
        for cell_id in self._cell_ids:
            cases = self._cases(cell_id).select(KEY, "case_id").collect()
            self._tallies[cell_id] = Tally(cases.height)
            before = read_landed(self._lake, self._run_id, cell_id)
            for row in before.iter_rows(named=True):
                self._count(cell_id, row, kept=True)
            self._settled.update((cell_id, case_id) for case_id in before["case_id"])
            open_keys |= dict.fromkeys(cases.join(before, on="case_id", how="anti")[KEY])
        shared = self._share_known(open_keys)
        return [key for key in open_keys if key not in shared]

    def answered_keys(self) -> set[str]:
        """Keys with a reply in at least one case."""
        keys: set[str] = set()
        for cell_id in self._cell_ids:
            before = read_landed(self._lake, self._run_id, cell_id).lazy()
            keys.update(self._cases(cell_id).join(before, on="case_id", how="semi").select(KEY).collect()[KEY])
        return keys

    def write_input(self, lines: BatchLines, keys: Sequence[str], path: Path, room: InputRoom) -> InputLoad:
        """Writes the requests of `keys` to an input file, in their order, until it is full."""
        load = InputLoad()
        asked = self._select_cases(keys).unique(KEY, keep="first", maintain_order=True)
        with storing(path), path.open("wb") as file:
            for case in asked.iter_rows(named=True):
                request = replace(to_request(case), request_key=case[KEY])
                line = lines.of(request)
                if not load.takes(request.request_key, len(line), self._most_usd(request), room):
                    break
                file.write(line)
        return load

    def most_usd(self, keys: Sequence[str]) -> float:
        """Maximum cost of the requests of `keys`."""
        asked = self._select_cases(keys).unique(KEY, keep="first")
        return sum(self._most_usd(to_request(case)) for case in asked.iter_rows(named=True))

    def cases(self, keys: Iterable[str]) -> dict[str, list[Case]]:
        """All cases of `keys`, by key, in a fixed order."""
        found: dict[str, list[Case]] = {}
        for case in self._select_cases(keys).iter_rows(named=True):
            found.setdefault(case[KEY], []).append(case)
        return found

    def land(self, cases: Sequence[Case], answer: Answer) -> None:
        """Lands one answer for all cases with the same request: the first was sent, the others share it."""
        for position, case in enumerate(cases):
            place = case["cell_id"], case["case_id"]
            if place not in self._settled:
                self._settled.add(place)
                self._land(case, replace(answer, shared=position > 0))

    async def flush(self) -> None:
        """Lands all journals as Parquet, even on cancellation."""
        journals = list(self._journals.values())
        await asyncio.shield(asyncio.to_thread(_land_journals, journals))

    def conclude(self, seconds: float) -> dict[str, Tally]:
        """Lands the events of the cells and returns their tallies; all share the `seconds` of this pass."""
        cases = self._lake.scan("cases", self._run_id, [*self._tallies]).select(CELL)
        cells = cases.unique("cell_id", keep="first", maintain_order=True).collect()
        timed = {cell_id: replace(tally, seconds=seconds) for cell_id, tally in self._tallies.items()}
        self._tallies = record_cells(self._lake, cells, timed)
        return self._tallies

    def _cases(self, cell_id: str) -> pl.LazyFrame:
        """The cases of a cell with the request key of each."""
        alone = pl.concat_str("request_key", "cell_id", "case_id", separator="-")
        key = pl.col("request_key") if self._shares else alone
        return self._lake.scan("cases", self._run_id, cell_id).with_columns(key.alias(KEY))

    def _select_cases(self, keys: Iterable[str]) -> pl.DataFrame:
        wanted = pl.LazyFrame({KEY: list(keys)}, schema={KEY: pl.String})
        own = pl.concat([self._cases(cell_id) for cell_id in self._cell_ids])
        return own.join(wanted, on=KEY, how="semi", maintain_order="left").collect()

    def _share_known(self, open_keys: Iterable[str]) -> set[str]:
        if not self._shares:
            return set()
        known = {
            key: answer
            for key, answer in repeated_requests(self._lake, self._run_id).items()
            if answer is not None
        }
        cases = self.cases(key for key in open_keys if key in known)
        for key, asking in cases.items():
            for case in asking:
                if (case["cell_id"], case["case_id"]) not in self._settled:
                    self._settled.add((case["cell_id"], case["case_id"]))
                    self._land(case, replace(known[key], shared=True))
        return set(cases)

    def _land(self, case: Case, answer: Answer) -> None:
        cell_id = case["cell_id"]
        row = response_row(case, self._target, answer)
        if not self._shares:  # separate replies to the same request within one file need separate ids
            row["response_id"] = content_hash(row["response_id"], cell_id, case["case_id"])
        if row["cost_usd"] is not None:
            row["cost_usd"] *= self._price_share
        if answer.reply and not answer.shared:
            self.longest = max(self.longest, answer.reply.output_tokens or 0)
            unknown = row["cost_usd"] is None
            self.spent_usd += self._most_usd(to_request(case)) if unknown else row["cost_usd"]
        if cell_id not in self._journals:
            self._journals[cell_id] = Journal(self._lake, self._run_id, cell_id)
        self._journals[cell_id].append(row)
        if isinstance(answer.error, ModelStopped):
            self._tallies[cell_id] = replace(self._tallies[cell_id], stopped=str(answer.error))
        self._count(cell_id, row)

    def _most_usd(self, request: Request) -> float:
        return self._price_share * most_usd(request, self._target, self.longest)

    def _count(self, cell_id: str, row: dict[str, Any], *, kept: bool = False) -> None:
        self._tallies[cell_id] = self._tallies[cell_id].plus(row)
        if self._watch:
            self._watch(self._target.model, outcome_of(row, is_kept=kept), row["cost_usd"])


def _land_journals(journals: Iterable[Journal]) -> None:
    for journal in journals:
        journal.land()
