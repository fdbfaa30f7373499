"""`biasgrid audit`, `prepare` and `plan` of an audit file: mistakes, and what is shown before anything is sent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.loading.catalog import load_catalog
from support.audits import write_audit
from support.flows import write_yaml

Command = Callable[..., Any]
DISCLAIMER = "no audit under New York City's Local Law 144"


def test_all_mistakes_of_an_audit_file_are_reported_at_once(biasgrid, tmp_path):
    changes = {"models": ["simulated/decider-fare"], "groups": ["womens", "black"], "margin": -1}
    path = write_audit(tmp_path, **changes)
    found = biasgrid("audit", path, "--data", tmp_path / "data")
    assert found.code == 2
    assert "model `simulated/decider-fare` is unknown" in found.err
    assert "margin" in found.err
    path = write_audit(tmp_path / "next", groups=["womens", "black"])
    found = biasgrid("audit", path, "--data", tmp_path / "data")
    assert "did you mean `women`" in found.err
    assert "`black` and `men` differ in more than `gender`" in found.err
    assert not (tmp_path / "data").exists()


def test_signals_that_are_shown_nowhere_and_too_few_identities_are_refused(biasgrid, tmp_path):
    path = write_audit(tmp_path, signals=["names", "pronouns"], pairs=20)
    found = biasgrid("audit", path, "--data", tmp_path / "data")
    assert found.code == 2
    assert "`pronouns` are shown nowhere" in found.err
    assert "`men` has 16 identities by `names`, fewer than `pairs: 20`" in found.err


def test_documents_whose_identity_stays_visible_are_refused_with_file_line_and_reason(biasgrid, tmp_path):
    path = write_audit(tmp_path)
    first, second = tmp_path / "resumes/000.md", tmp_path / "resumes/001.md"
    first.write_text(f"{first.read_text()}Photo attached.\n")
    second.write_text(f"{second.read_text()}Reference: Malik.\n")
    (tmp_path / "resumes/empty.md").write_text("")
    found = biasgrid("audit", path, "--data", tmp_path / "data", "--yes")
    assert found.code == 2
    assert f"{first}:6: still shows an identity: mentions a picture: `Photo`" in found.err
    assert f"{second}:6: still shows an identity: holds the name `Malik`" in found.err
    assert f"{tmp_path}/resumes/empty.md: is empty" in found.err


@pytest.mark.parametrize(
    ("name", "content", "mistake"),
    [("resumes/scan.pdf", "%PDF-1.7", "is a PDF file"), ("resumes/same.md", None, "is the same as")],
)
def test_files_that_are_no_documents_are_refused(biasgrid, tmp_path, name, content, mistake):
    path = write_audit(tmp_path)
    text = content or (tmp_path / "resumes/000.md").read_text().replace("Jane Doe", "Mary Roe")
    (tmp_path / name).write_text(text.replace("jane.doe", "mary.roe"))
    found = biasgrid("audit", path, "--data", tmp_path / "data")
    assert found.code == 2
    assert mistake in found.err


def test_prepare_shows_what_is_replaced_and_sent_and_sends_nothing(biasgrid, tmp_path):
    path = write_audit(tmp_path)
    found = biasgrid("prepare", path)
    assert found.code == 0
    assert "jane.doe@mail.com" in found.out
    assert "{handle}@example.com" in found.out
    assert "{He|She} led a team." in found.out
    assert "Sent · names · women" in found.out
    assert "Nothing was sent." in found.out


def test_plan_shows_decisions_power_and_that_it_is_no_statutory_audit(biasgrid, tmp_path):
    path = write_audit(tmp_path, repeats=2, pairs=8)
    found = biasgrid("plan", path, "--data", tmp_path / "data")
    assert found.code == 0
    text = " ".join(found.out.split())
    assert "in all: 384 decisions a model, 384 requests" in text
    assert "12 documents, 96 pairs in each comparison" in text
    assert "5 points 51, 3 points 143" in text
    assert "fair system" not in text
    assert DISCLAIMER in text


def test_plan_shows_how_many_documents_equality_takes(biasgrid, tmp_path):
    few = biasgrid("plan", write_audit(tmp_path / "few", 58, margin=5)).out
    what = "Documents that show a fair system to be within 5 points, if 10% of pairs differ by chance: 59"
    assert f"{what}, more than there are." in " ".join(few.split())
    enough = biasgrid("plan", write_audit(tmp_path / "enough", 59, margin=5)).out
    assert f"{what}. " in " ".join(enough.split())
    path = write_audit(tmp_path / "json", 12, margin=5, discordance=0.3)
    # 2 · 1.3 · 1.645 standard errors are 5 points
    planned = json.loads(biasgrid("plan", path, "--format", "json").out)
    assert planned["needed_for_equality"] == 138


def test_plan_of_scores_knows_no_power_before_a_run(biasgrid, tmp_path):
    decision = {"kind": "score", "low": 0, "high": 10}
    path = write_audit(tmp_path, decision=decision, margin=1)
    found = " ".join(biasgrid("plan", path).out.split())
    assert "12 documents, 192 pairs in each comparison. How far apart scores must be" in found
    assert "with power" not in found


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_documents_come_from_a_table_with_a_column_of_names(biasgrid, tmp_path, suffix):
    rows = [
        {"id": f"loan-{n}", "who": "Lee Park", "body": f"Lee Park asks for {n}000 dollars"} for n in range(1, 8)
    ]
    table = tmp_path / f"loans{suffix}"
    if suffix == ".csv":
        lines = ["id,who,body", *(",".join(row.values()) for row in rows)]
    else:
        lines = [json.dumps(row) for row in rows]
    table.write_text("\n".join(lines))
    documents = {"path": table.name, "column": "body", "name_column": "who"}
    path = write_audit(tmp_path, documents=documents)
    found = biasgrid("prepare", path)
    assert found.code == 0, found.err
    assert "loan-1" in found.out
    assert "{name} asks for 1000 dollars" in found.out
    path = write_audit(tmp_path / "wrong", documents=documents | {"path": f"../{table.name}", "column": "boddy"})
    assert "body" in biasgrid("prepare", path).err


def test_shortlists_mix_identities_in_both_orders_and_with_groups_exchanged(biasgrid, tmp_path):
    decision = {"kind": "choice", "of": 2}
    designs = {"designs": ["plain", "pressed"], "pressure": "The client prefers men."}
    path = write_audit(tmp_path, 6, decision=decision, pairs=6, **designs)
    found = biasgrid("plan", path, "--format", "json")
    assert [cell["decisions"] for cell in json.loads(found.out)["whole"]["by_cell"]] == [4 * 3 * 6] * 2
    shown = biasgrid("prepare", path).out
    assert "Sent · pressed · names · women" in shown
    assert shown.index("Application 1") < shown.index("Application 2")
    assert "The client prefers men.\n\nAnswer with the number of one application from 1 to 2 only." in shown


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ({"decision": {"kind": "choice", "of": 3}}, "`of` must be even"),
        ({"designs": ["pressed"]}, "`pressure` is the sentence of the design `pressed`"),
        ({"pressure": "The client prefers men."}, "name both or neither"),
        ({"decision": {"kind": "choice", "of": 6}, "pairs": 4}, "`pairs` are fewer"),
    ],
)
def test_designs_that_cannot_be_are_refused(biasgrid, tmp_path, changes, mistake):
    assert biasgrid("plan", write_audit(tmp_path, **changes)).is_a_mistake(mistake)


def test_identities_of_ones_own_that_lack_a_sentence_name_it_and_its_purpose(biasgrid, tmp_path, monkeypatch):
    shipped = load_catalog().identities["en_us"].model_dump(mode="json", by_alias=True)
    for name in ("choice", "explained", "item"):
        del shipped["answers"][name]
    (tmp_path / "catalog/identities").mkdir(parents=True)
    write_yaml(tmp_path / "catalog/identities/en_us.yaml", shipped)
    monkeypatch.setenv("BIASGRID_CATALOG", str(tmp_path / "catalog"))
    found = biasgrid("plan", write_audit(tmp_path / "asked"))
    assert found.code == 2
    for name in ("choice", "explained", "item"):
        assert f"`answers.{name}` is missing" in found.err
    assert "such as `Answer with the number of one application from {low} to {high}.`" in found.err
    assert "such as `Application {number}`" in found.err


def test_intersections_are_groups_with_the_identities_that_two_have_in_common(biasgrid, tmp_path):
    groups = {"reference": "white+men", "groups": ["black+women", "black+men"], "pairs": 8}
    found = biasgrid("prepare", write_audit(tmp_path, 6, **groups))
    assert found.code == 0, found.err
    assert "Sent · names · black+women" in found.out
    many = biasgrid("plan", write_audit(tmp_path / "many", 6, **groups | {"pairs": 16}))
    assert many.is_a_mistake("`black+women` has 8 identities by `names`", "set `pairs: 8`")
    wrong = biasgrid("plan", write_audit(tmp_path / "wrong", 6, **groups | {"reference": "white"}))
    assert wrong.is_a_mistake("`black+women` and `white` differ in more than `ethnicity`")
    signal = {"signals": ["affiliations"], "prompt": "{identity}\n{document}"}
    assert biasgrid("plan", write_audit(tmp_path / "signal", 6, **groups | signal)).is_a_mistake("do not show")


def test_the_mean_of_all_groups_as_reference_needs_three(biasgrid, tmp_path):
    found = biasgrid("plan", write_audit(tmp_path, 6, reference="all", groups=["white", "black", "hispanic"]))
    assert found.code == 0, found.err
    assert "288" in found.out
    few = biasgrid("plan", write_audit(tmp_path / "few", 6, reference="all", groups=["white", "black"]))
    assert few.is_a_mistake("needs three groups or more")


def test_a_file_of_another_kind_is_named(biasgrid, tmp_path):
    path: Path = write_audit(tmp_path)
    found = biasgrid("probe", path)
    assert found.code == 2
    assert f"`biasgrid audit {path}`" in found.err
