"""One run, one set of numbers: what the terminal, pages, pictures, Markdown, JUnit, artifacts and model cards show
of it is read back, and none of them differs from the JSON report.
"""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from biasgrid.flows.audit.sections import describe_shift
from biasgrid.flows.benchmark import sections as of_benchmarks
from biasgrid.flows.results.report_formats import FORMATS
from biasgrid.flows.results.show import show_first_screen
from biasgrid.flows.runs.kinds import AnyKind, find_kind
from biasgrid.tasks.report.answer import answer
from biasgrid.tasks.report.figures import format_measure
from biasgrid.tasks.report.verdicts import VERDICTS
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake
from biasgrid.warehouse.storage.runs import find_run
from support.assessed_runs import Assessed
from support.decided_runs import land_audit

TOO_FEW = "too few documents or identities to show equality"
ASKED = ("probed", "talked")
"""Runs that take seconds to make."""
RUNS = [*(pytest.param(name, marks=pytest.mark.drill) for name in ASKED), "nights", "attacked", "audited"]
PRINTED = ("json", "junit", "markdown", "pictures", "model-card", "html")
UNITS: Mapping[str, Any] = {"interaction": "score", "audit": "points"}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Assessed:
    """Women are selected less often than men; some decisions about them are refused."""
    lake = Lake.open(tmp_path_factory.mktemp("audited"))
    women = ([1, 0, 1, 0, 0, 1, 0, 1], [1, 1, "refused", 0, 0, 1, 0, 1], [1, 1, 0, 0, 1, 1, 0, 1])
    land_audit(lake, [[1, 1, 1, 0, 1, 1, 0, 1]] * 30, [*women] * 10, "A1", margin=5)
    build(lake)
    return Assessed(lake.root, "A1")


@dataclass
class Reports:
    """All reports of a run, in one folder."""

    lake: Lake
    run_id: str
    out: Path

    @cached_property
    def kind(self) -> AnyKind:
        return find_kind(find_run(self.lake, self.run_id).kind)

    @cached_property
    def outcome(self) -> Any:
        return self.kind.outcome(self.lake, self.run_id)

    def text(self, pattern: str) -> str:
        return next(self.out.rglob(pattern)).read_text(encoding="utf-8")

    @property
    def several(self) -> bool:
        """Whether models are distinguished."""
        return len(answer(self.lake, self.run_id).models) > 1

    def number(self, value: float | None) -> str:
        return format_measure(value, UNITS.get(self.kind.name, "share")).removesuffix(" points")


@pytest.fixture(scope="module", params=RUNS)
def reports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    made = request.getfixturevalue(request.param)
    lake, run_id = (made, "N2") if isinstance(made, Lake) else (Lake.at(made.data), made.run_id)
    return _print(lake, run_id, tmp_path_factory.mktemp("surfaces"))


def _print(lake: Lake, run_id: str, out: Path) -> Reports:
    for name in PRINTED:
        FORMATS[name].load()(lake, run_id, out)
    return Reports(lake, run_id, out)


MARTS = {
    "benchmark": ("requirement_findings", "rate", "interval_low", "interval_high", "decision"),
    "probe": ("probe_findings", "stereotypical_share", "low", "high", "state"),
    "redteam": ("attack_success", "success_rate", "low", "high", "state"),
    "interaction": ("bias_scores", "bias_score", "low", "high", "state"),
    "audit": ("score_shifts", "difference", "low", "high", "state"),
}
"""What is found of a check, and its value, 95% interval and state."""
NAMES = {
    "benchmark": ("requirement",),
    "probe": ("pair", "test"),
    "redteam": ("strategy",),
    "interaction": ("axis", "setting", "mitigation", "stage"),
    "audit": ("identity_group", "signal"),
}
"""Columns that name a check."""


@dataclass(frozen=True)
class Expected:
    names: tuple[str, ...]
    """Of the model, where there are several, and of the check."""
    value: str
    interval: str | None
    state: str

    def is_shown_in(self, line: str, *, has_interval: bool, has_state: bool) -> bool:
        words = [self.value, *([self.interval] if has_interval and self.interval else [])]
        state = not has_state or any(word in line for word in (self.state, VERDICTS[self.state].word))  # type: ignore[index]
        return state and all(re.search(rf"(?<![\w.+−]){re.escape(word)}(?![\w.]*\d)", line) for word in words)


@pytest.fixture(scope="module")
def expected(reports: Reports) -> list[Expected]:
    mart, *columns = MARTS[reports.kind.name]
    rows = json.loads(reports.text(f"{reports.run_id}.json"))[mart]
    counted = [row for row in rows if row.get("domain", "all") == "all" and not row.get("is_control")]
    return [_expect(reports, row, *(row[name] for name in columns)) for row in counted]


def _expect(reports: Reports, row: Mapping[str, Any], value: Any, low: Any, high: Any, state: str) -> Expected:
    own = [row[name] for name in NAMES[reports.kind.name] if row[name] not in ("none", "only")]
    names = [*([row["model"]] if reports.several else []), *own]
    interval = None if low is None else f"{reports.number(low)} to {reports.number(high)}"
    return Expected((*names,), reports.number(value), interval, state)


def of_junit(reports: Reports) -> Iterator[str]:
    for suite in ElementTree.fromstring(reports.text("junit.xml")):
        for case in suite.findall("testcase"):
            text = "".join(one.get("message") or f"meets {one.text}" for one in case)
            yield f"{suite.get('name')} {case.get('name')} {text}"


def of_markdown(reports: Reports) -> Iterator[str]:
    lines = reports.text("summary.md").splitlines()
    return (html.unescape(re.sub("<[^>]*>", " ", line)) for line in lines if "<br>" in line)


def of_cards(reports: Reports) -> Iterator[str]:
    for path in reports.out.glob("*.model-card.yaml"):
        for card in yaml.safe_load(path.read_text(encoding="utf-8"))["model-index"]:
            for result in card["results"]:
                (metric,), about = result["metrics"], result["dataset"]["config"]
                ends = [metric["args"].get(f"interval_95_{end}") for end in ("low", "high")]
                numbers = [reports.number(metric["value"]), " to ".join(map(reports.number, ends))]
                yield " ".join([card["name"], about, *numbers, metric["args"]["decision"]])


def of_pictures(reports: Reports) -> Iterator[str]:
    """Marks; the title of a model's part is written after them."""
    model = ""
    for label in map(html.unescape, reversed(re.findall(r'aria-label="([^"]*)"', reports.text("measures.svg")))):
        model = label.removeprefix("Title text ").strip("'") if label.startswith("Title text") else model
        given = re.match(r"value: ([^;]*); check: (.*); finding: (.*)", label)
        if given:
            yield f"{model} {given[2]} {reports.number(float(given[1].replace('−', '-')))} {given[3]}"


def of_terminal(reports: Reports) -> Iterator[str]:
    for section in reports.kind.sections(reports.outcome):
        for row in section.table.rows if section.table else ():
            yield " ".join([row.group, *map(str, row.cells)])


def of_artifacts(reports: Reports) -> Iterator[str]:
    if reports.kind.name == "benchmark":
        rows = [of_benchmarks._record(row) | {"in": row["worst_language"]} for row in reports.outcome.findings]
    else:
        rows = reports.kind.part("sections:records")(reports.outcome)
    return (html.unescape(" ".join(map(str, row.values()))).replace("\\", "") for row in rows)


def of_pages(reports: Reports) -> Iterator[str]:
    """Rows of tables, each after the heading above it."""
    if reports.kind.name == "benchmark":
        columns = json.loads(reports.text("cells.js").partition(",")[2].removesuffix(");\n"))["languages"]
        for row in (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)):
            ends = f"{reports.number(row['interval_low'])} to {reports.number(row['interval_high'])}"
            yield " ".join(map(str, (*row.values(), reports.number(row["rate"]), ends)))
        return
    heading = ""
    for part in re.findall(r"<h3>.*?</h3>|<tr\b.*?</tr>", reports.text("report.html"), re.DOTALL):
        text = " ".join(html.unescape(re.sub(r"<[^>]*>|[()]", " ", part)).split())
        heading = text if part.startswith("<h3") else heading
        yield f"{heading} {text}"


READERS: Mapping[str, Callable[[Reports], Iterator[str]]] = {
    "junit": of_junit,
    "markdown": of_markdown,
    "model cards": of_cards,
    "pictures": of_pictures,
    "terminal": of_terminal,
    "artifacts": of_artifacts,
    "pages": of_pages,
}
WITH_STATE = ("junit", "markdown", "model cards")


@pytest.mark.parametrize("surface", READERS)
def test_every_number_is_the_same_wherever_it_is_shown(reports, expected, surface):
    lines = [_one_form(line) for line in READERS[surface](reports)]
    has = {"has_interval": surface != "pictures", "has_state": surface in WITH_STATE}
    for one in expected:
        about = [line for line in lines if all(name in line for name in one.names)]
        is_left_out = one.value == "none" and surface in ("pictures", "model cards")
        assert is_left_out or any(one.is_shown_in(line, **has) for line in about), (one, about or lines)


def _one_form(line: str) -> str:
    """Numbers as `80.0% to 90.0%`, and `none` where there is none."""
    line = re.sub(r"([\d.]+)–([\d.]+%)", r"\1% to \2", line.replace(" points", ""))
    return line.replace(" – ", " none ")


def test_the_answer_is_the_same_sentences_everywhere(reports, capsys):
    found = answer(reports.lake, reports.run_id)
    show_first_screen(reports.lake, reports.kind, reports.outcome)
    screen = " ".join(capsys.readouterr().out.split())
    summary = html.unescape(reports.text("summary.md"))
    page = reports.text("run.js" if reports.kind.name == "benchmark" else "report.html")
    page = html.unescape(re.sub(r"\\u(003[ce])", lambda found: chr(int(found[1], 16)), page))
    for sentence in found.sentences():
        assert sentence in screen
        assert sentence in summary
        assert sentence in page
    assert found.first in html.unescape(reports.text("junit.xml"))


def test_the_verdict_on_a_model_is_the_same_everywhere(reports, capsys):
    show_first_screen(reports.lake, reports.kind, reports.outcome)
    screen, junit = capsys.readouterr().out, ElementTree.fromstring(reports.text("junit.xml"))
    for one in answer(reports.lake, reports.run_id).models:
        line = next(line for line in screen.splitlines() if re.match(rf"\S {re.escape(one.model)} ", line))
        assert line.startswith(VERDICTS[one.state].sign)
        assert one.verdict in line
        if reports.kind.name != "benchmark":  # whose headline is a requirement in its worst language
            counts = " | ".join(str(one.counts[state]) for state in VERDICTS)
            assert f"<code>{one.model}</code> | {counts} |" in html.unescape(reports.text("summary.md"))
            suite = next(suite for suite in junit if suite.get("name") == one.model)
            assert suite.get("failures") == str(one.counts["not met"])


def test_the_groups_that_fare_worse_with_a_model_that_shows_bias_are_named(reports):
    found = answer(reports.lake, reports.run_id)
    biased = {one.model for one in found.models if one.state == "not met"}
    if reports.kind.name != "benchmark":  # where a requirement can fail about all alike
        assert set(found.harmed) == biased
    for model in biased & set(found.harmed):
        (sentence,) = (one for one in found.sentences() if one.startswith(f"{model} "))
        assert all(harm.group in sentence for harm in found.harmed[model][:3])


@pytest.fixture(scope="module")
def unproven(tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """Men and women are selected alike, in too few decisions to prove it."""
    lake = Lake.open(tmp_path_factory.mktemp("unproven"))
    alike = [[1, 1, 1, 0, 1, 1, 0, 1]] * 30
    land_audit(lake, alike, alike, "A2", margin=3)
    build(lake)
    return _print(lake, "A2", tmp_path_factory.mktemp("unproven"))


@pytest.mark.parametrize("surface", [name for name in READERS if name != "model cards"])
def test_too_few_documents_are_the_finding_wherever_it_is_shown(unproven, surface):
    assert any(TOO_FEW in line for line in READERS[surface](unproven))


def test_too_few_documents_prove_nothing(unproven, capsys):
    assert unproven.outcome.exit_code == 4
    sentence = f"There are {TOO_FEW}."
    show_first_screen(unproven.lake, unproven.kind, unproven.outcome)
    screen = " ".join(capsys.readouterr().out.split())
    for shown in (screen, *map(html.unescape, map(unproven.text, ("summary.md", "report.html")))):
        assert f"which is no proof. {sentence}" in shown
    shift = str(describe_shift(unproven.outcome.shifts[0]))
    assert "no difference from men shown (95% interval −11.6 to +11.6)" in shift
    assert f"{TOO_FEW} within 3 points" in shift
    (row,) = json.loads(unproven.text("A2.json"))["score_shifts"]
    assert (row["state"], row["finding"]) == ("undecided", TOO_FEW)
