"""Progress of a run on the terminal, a bar per model."""

from __future__ import annotations

from collections import Counter

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from biasgrid.flows.terminal.console import console, dollars, one_line, readable


class _Rate(ProgressColumn):
    """Replies a second, or a minute where they are few."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed or task.total is None:
            return Text("")
        return Text(f"{speed:,.0f}/s" if speed >= 1 else f"{60 * speed:,.0f}/min", style="dim")


class RunProgress:
    """One progress bar per model, on a terminal only."""

    def __init__(self) -> None:
        self._console = console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[outcomes]}", markup=False),
            _Rate(),
            TimeRemainingColumn(compact=True),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self.run_id: str | None = None
        """Known when the first prompt may be sent."""
        self._preparing = TaskID(0)
        self._bars: dict[str, TaskID] = {}
        self._outcomes: dict[str, Counter[str]] = {}
        self._spent: dict[str, float] = {}
        self._stopped: dict[str, str] = {}
        self._waits: set[str] = set()

    def __enter__(self) -> RunProgress:
        self._progress.start()
        self._preparing = self._progress.add_task(
            "preparing: Prefect takes some seconds to start", total=None, outcomes=""
        )
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        self.stop()
        if isinstance(error, KeyboardInterrupt):  # its one line is printed where the command ends
            return
        for model, counts in self._outcomes.items():
            shown = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items()))
            self._console.print(Text(f"{one_line(model)}: {shown}{self._money(model)}"), soft_wrap=True)

    def stop(self) -> None:
        """Draws the bars for the last time."""
        self._progress.stop()

    @property
    def how_to_go_on(self) -> str:
        """What a person who stops the run now should know."""
        if self.run_id is None:
            return "nothing was sent"
        return f"what arrived is kept: go on with `biasgrid resume {self.run_id}`"

    def on_plan(self, run_id: str, requests: dict[str, int]) -> None:
        """The run's id and how many cases each model is asked; again for each further stage."""
        total = sum(requests.values())
        models = "1 model" if len(requests) == 1 else f"{len(requests)} models"
        more = " more" if self.run_id else ""
        self._console.print(f"run {run_id}: {total:,}{more} prompts to {models}", highlight=False)
        if self.run_id is None:
            self._progress.remove_task(self._preparing)
        self.run_id = run_id
        for model, count in requests.items():
            self._ask(model, count)

    def _ask(self, model: str, count: int) -> None:
        """A bar, or a longer one where a run has a second stage."""
        if model in self._bars:
            done = self._progress.tasks[self._progress.task_ids.index(self._bars[model])]
            self._progress.update(self._bars[model], total=(done.total or 0) + count)
            return
        self._outcomes[model] = Counter()
        self._bars[model] = self._progress.add_task(one_line(model), total=count, outcomes="")

    def on_case(self, model: str, outcome: str, cost_usd: float | None = None) -> None:
        """`answered`, `kept` from before, `reused` or `failed`, and what it cost where that is known."""
        counts = self._outcomes[model]
        counts[outcome] += 1
        self._spent[model] = self._spent.get(model, 0.0) + (cost_usd or 0.0)
        shown = "  ".join(f"{counts[name]} {name}" for name in ("failed", "kept", "reused") if counts[name])
        self._progress.update(self._bars[model], advance=1, outcomes=f"{shown}{self._money(model)}")

    def on_stop(self, model: str, why: str) -> None:
        """Reports once that a model receives no more requests."""
        if model not in self._stopped:
            self._stopped[model] = why
            self._console.print(Text(one_line(f"{model} is stopped: {why}"), style="yellow"), soft_wrap=True)

    def on_wait(self, why: str) -> None:
        """Reports a pause once."""
        if why not in self._waits:
            self._waits.add(why)
            self._console.print(Text(readable(why), style="yellow"), soft_wrap=True)

    def _money(self, model: str) -> str:
        spent = self._spent.get(model)
        return f"  {dollars(spent)}" if spent else ""
