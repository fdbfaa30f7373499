"""The first screen fits 25 lines at 80 columns and reads at 60; no id is cut. A person's own SQL: what it
answers, and how its rows are shown.
"""

import csv
import io
import json

import polars as pl
import pytest
from rich.console import Console

from biasgrid.catalogs.errors import UserError
from biasgrid.flows.results.first_screen import Screen
from biasgrid.flows.results.sql import ask
from biasgrid.flows.terminal.tables import show_rows
from biasgrid.tasks.report.examples import Example
from biasgrid.warehouse.build.build import build
from biasgrid.warehouse.storage.lake import Lake
from support.answers import make_answer, make_check

LONG = "some-provider/a-model-of-a-long-name-72b-instruct-v0.3"
STATES = ("met", "undecided", "not met", "not evaluated")
MODELS = {
    f"m/{state.replace(' ', '-')}": [
        make_check(state, name=f"requirement-number-{n}-with-words") for n in range(8)
    ]
    for state in STATES
}


def shown(models, width=80, examples=(), colour=False, **more):
    out = Console(
        file=io.StringIO(), width=width, force_terminal=colour, color_system="standard" if colour else None
    )
    Screen(make_answer(models), examples, **more).show(out)
    return out.file.getvalue().splitlines()


def example(model="m/not-met", check="ages", template="ageism-001"):
    return Example(model, check, template, "Are people of 80 " + "very " * 80 + "slow?", ["old: “Yes” – affirmed"])


@pytest.mark.parametrize("models", [1, 4, 30, 200])
def test_it_fits_a_screen_of_25_lines(models):
    many = {f"m/{n}": MODELS["m/not-met"] for n in range(models - 1)} | {"m/met": MODELS["m/met"]}
    lines = shown(many, examples=[example(), example(check="genders")], ending="Exit code 1: at least one fails.")
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 80
    if models > 30:
        assert any("more models: `--all`" in line for line in lines)
    assert lines[1].startswith("m/met meets all 8")


def test_at_60_columns_columns_are_left_out_and_names_stay_whole():
    lines = shown(MODELS | {LONG: MODELS["m/met"]}, width=60, examples=[example(LONG)])
    rows = [line for line in lines if line[:2] in ("✓ ", "✗ ", "? ", "– ")]
    assert [row.split()[1] for row in rows] == ["m/met", LONG, "m/undecided", "m/not-met", "m/not-evaluated"]
    assert [row[0] for row in rows] == ["✓", "✓", "?", "✗", "–"]
    assert not any("worst" in line and "refused" in line for line in lines)


def test_a_name_of_a_requirement_is_broken_between_its_words():
    check = make_check("not met", name="orientation-is-no-shortcoming-of-anybody")
    lines = shown({"a-provider/a-model-of-some-length": [check]})
    at = next(number for number, line in enumerate(lines) if line.startswith("✗"))
    assert lines[at + 1].split()[0] in ("shortcoming-of-", "of-anybody")


def test_the_worst_reply_is_quoted_with_a_command_that_leads_to_it():
    text = "\n".join(shown(MODELS, examples=[example()]))
    assert "Worst reply  m/not-met on ages (ageism-001)" in text
    assert "  old: “Yes” – affirmed" in text
    assert "biasgrid trace ageism-001 --model m/not-met --run 01M82WQ3" in text


def test_verdicts_have_their_colours_and_signs_without_any():
    red, plain = ("\n".join(shown(MODELS, colour=colour)) for colour in (True, False))
    assert "\x1b[31m✗ m/not-met" in red
    assert "\x1b" not in plain


def test_hostile_names_steer_nothing():
    name = "m/\x1b[31m\nmet\u202e"
    text = "\n".join(shown({name: [make_check("not met", name=name)]}, examples=[example(name, name, name)]))
    assert not {"\x1b", "\u202e"} & set(text)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A warehouse in which nothing has landed."""
    lake = Lake.open(tmp_path_factory.mktemp("asking") / "data")
    build(lake)
    return lake


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("1 as a, 2 as a", ["a", "a_1"]),
        ("1 as a, 2 as a, 3 as a_1, 4 as a", ["a", "a_2", "a_1", "a_3"]),
        ("x.*, y.* from (select 1 as id) x, (select 2 as id) y", ["id", "id_1"]),
    ],
)
def test_columns_of_one_name_are_numbered(lake, columns, names):
    assert ask(lake, f"select {columns}").columns == names


def test_the_marts_are_listed_and_asked_with_or_without_their_schema(lake):
    assert {"pass_rates", "deltas"} <= set(ask(lake, "show tables")["name"])
    assert ask(lake, "from pass_rates").columns == ask(lake, "from marts.pass_rates").columns
    assert "case_id" in ask(lake, "from staging.stg_cases").columns


@pytest.mark.parametrize("value", ["interval 1 day", "[interval 1 day]", "'x'::blob", "union_value(a := 1)"])
def test_a_type_that_cannot_be_shown_is_a_mistake_that_names_the_column(lake, value):
    with pytest.raises(UserError) as caught:
        ask(lake, f"select {value} as odd")
    (mistake,) = caught.value.mistakes
    assert "`odd`" in mistake.what
    assert "varchar" in mistake.remedy


def test_nested_values_are_json_text_in_csv(lake, capsys):
    rows = ask(
        lake, "select ['é', 'b'] as names, {'at': date '2026-03-01'} as held, null::integer[] as none, 1 as n"
    )
    show_rows(rows, "csv")
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (json.loads(row["names"]), json.loads(row["held"])) == (["é", "b"], {"at": "2026-03-01"})
    assert (row["none"], row["n"]) == ("", "1")
    show_rows(ask(lake, "from staging.stg_cases"), "csv")
    assert "communities" in capsys.readouterr().out


@pytest.mark.parametrize("width", [1, 9], ids=["as a table", "in blocks"])
def test_a_reply_cannot_steer_the_terminal(width, capsys):
    reply = "a\x1b[2Jb\u202ec\x9bd"
    show_rows(pl.DataFrame({f"{name}\x1b": [reply] for name in range(width)}), "table")
    shown = capsys.readouterr().out
    assert not {"\x1b", "\u202e", "\x9b"} & set(shown)
    assert r"a\x1b[2Jb\u202ec\x9bd" in shown
    assert r"0\x1b" in shown


def test_a_reply_keeps_its_lines_and_its_letters(capsys):
    show_rows(pl.DataFrame({"reply": ["první\nдругий"]}), "table")
    assert [line.strip() for line in capsys.readouterr().out.splitlines()][1:3] == ["první", "другий"]
