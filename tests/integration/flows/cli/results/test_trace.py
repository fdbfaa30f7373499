"""`biasgrid trace`: a tree that a person can follow, in either direction."""

import json
from typing import Any

import pytest

from biasgrid.flows.results.trace_view import show_trace
from biasgrid.tasks.aggregate.trace.benchmark import trace
from biasgrid.warehouse.build.build import query
from biasgrid.warehouse.storage.lake import Lake


@pytest.fixture
def failed(finished: Any) -> dict[str, Any]:
    """A prompt whose reply failed, with all ids on its way."""
    sql = """
        select verdicts.*, cases.requirement, cases.template, cases.instance_id, cases.request_key, replies.text,
            cases.messages[1].content as prompt
        from staging.stg_verdicts as verdicts
        inner join staging.stg_cases as cases using (run_id, cell_id, case_id)
        inner join staging.stg_responses as replies using (run_id, response_id)
        where verdicts.level = 'instance' and verdicts.outcome = 'failed'
        order by verdicts.case_id
        limit 1
    """
    return query(Lake(finished.data), sql).row(0, named=True)


IDS = ["case_id", "request_key", "response_id", "verdict_id"]


@pytest.mark.parametrize("name", IDS)
def test_from_any_id_of_a_prompt_the_way_up_and_down_is_reported(biasgrid, finished, failed, name):
    result = biasgrid("trace", failed[name], "--data", finished.data)
    assert (result.code, result.err) == (0, "")
    flowing = "".join(result.out.replace("│", " ").split())
    ways = ("requirement", "cell_id", "template", "template_id", "instance_id", *IDS)
    for way in (*ways, "prompt", "text", "reason"):
        assert "".join(str(failed[way]).split()) in flowing, way
    assert flowing.count("←askedfor") == 1
    assert max(map(len, result.out.splitlines()[1:-1])) <= 80


@pytest.mark.parametrize("name", ["run_id", "requirement", "template", "cell_id"])
def test_what_leads_to_many_prompts_is_counted_with_a_few_examples(biasgrid, finished, failed, name):
    result = biasgrid("trace", failed[name], "--examples", "1", "--data", finished.data)
    assert result.code == 0
    assert "1 of " in result.out.splitlines()[-2]
    assert result.out.count("prompt, case") == 1
    assert "fails" in result.out
    assert "--model MODEL" in result.out


def test_a_trace_in_json_is_one_object(biasgrid, finished, failed):
    report = json.loads(biasgrid("trace", failed["case_id"], "--format", "json", "--data", finished.data).out)
    assert report["asked"]["kind"] == "case"
    assert report["cases"][0]["responses"][0]["text"] == failed["text"]


def test_the_sql_of_a_finding_is_a_script_of_that_run(biasgrid, finished, failed):
    result = biasgrid("trace", failed["case_id"], "--sql", "--data", finished.data)
    assert "create table marts.requirement_findings as" in result.out
    assert f"where run_id = '{finished.run_id}'" in result.out
    assert f"'{failed['requirement']}'" in result.out


def test_an_unknown_id_is_a_mistake_with_the_nearest(biasgrid, finished):
    result = biasgrid("trace", "genders-alikee", "--data", finished.data)
    assert result.is_a_mistake("`genders-alikee`", "`genders-alike`")


def test_a_reply_cannot_steer_the_terminal(finished, capsys):
    found = trace(Lake(finished.data), "genders-alike", examples=1)
    found.cases[0]["responses"][0]["text"] = "No.\x1b[2J\u202e[red]ok[/red]"
    found.cases[0]["messages"] = [{"role": "user\x1b", "content": "\x9bhow?"}]
    show_trace(found)
    shown = capsys.readouterr().out
    assert not {"\x1b", "\u202e", "\x9b"} & set(shown)
    assert r"No.\x1b[2J\u202e[red]ok[/red]" in shown
