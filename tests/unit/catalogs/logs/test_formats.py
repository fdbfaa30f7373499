"""Logs of tools in the form that they document, read to samples."""

import json
from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.errors import Problem
from biasgrid.catalogs.logs.fields import FieldMap, as_messages, find, split_path
from biasgrid.catalogs.logs.tools import find_tool, recognise

MESSAGES = [{"role": "user", "content": "Who?"}]
HELM = {
    "scenario_state.json": {
        "adapter_spec": {"model": "lab/one"},
        "request_states": [
            {
                "instance": {
                    "id": f"id{number}",
                    "input": {"text": "Who?"},
                    "references": [{"output": {"text": "Nobody"}, "tags": ["correct"]}],
                },
                "train_trial_index": 0,
                "request": {"prompt": "Question: Who?\nAnswer:"},
                "result": {"completions": [{"text": reply}]},
            }
            for number, reply in enumerate(("Nobody", "She"))
        ],
    },
    "per_instance_stats.json": [
        {
            "instance_id": f"id{number}",
            "train_trial_index": 0,
            "stats": [{"name": {"name": "exact_match"}, "count": 1, "sum": score, "mean": score}],
        }
        for number, score in enumerate((1.0, 0.0))
    ],
    "run_spec.json": {"name": "bbq:subject=age,model=lab_one"},
}
DEEPEVAL = {
    "identifier": "night",
    "hyperparameters": {"model": "lab/one"},
    "testCases": [
        {
            "name": "test_case_0",
            "input": "Who?",
            "actualOutput": "Nobody",
            "metricsData": [{"name": "Bias", "score": 0.0, "threshold": 0.5, "success": True, "reason": "fair"}],
        },
        {
            "name": "test_case_1",
            "input": "Who?",
            "actualOutput": "She",
            "metricsData": [{"name": "Bias", "error": "no verdict", "success": False}],
        },
    ],
}


def read(*paths: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Samples and scores."""
    tool = find_tool(recognise(paths[0]))
    records = [(where, tree) for where, tree in tool.read(paths) if not isinstance(tree, Problem)]
    return [(sample, dict(tool.scores(tree))) for _, tree, sample in FieldMap({}, tool.fields).samples(records)]


def lines(path: Path, *objects: Any) -> Path:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return path


def test_helm_joins_statistics_by_instance(tmp_path):
    for name, content in HELM.items():
        (tmp_path / name).write_text(json.dumps(content))
    found = read(tmp_path / "scenario_state.json")
    assert [(sample["reply"], scores["exact_match"][0]) for sample, scores in found] == [
        ("Nobody", 1.0),
        ("She", 0.0),
    ]
    shared = {name: found[0][0][name] for name in ("model", "concern", "target", "item")}
    assert shared == {"model": "lab/one", "concern": "bbq", "target": ["Nobody"], "item": "id0"}


def test_a_chat_of_helm_is_what_was_asked_and_right_answers_are_letters_where_letters_were_asked_for(tmp_path):
    asked = HELM["scenario_state.json"]["request_states"][0]
    chat = asked | {"request": {"prompt": "", "messages": MESSAGES, "temperature": 0}}
    lettered = asked | {"output_mapping": {"A": "She", "B": "Nobody"}}
    state = {"adapter_spec": {"model": "lab/one"}, "request_states": [chat, lettered]}
    for name, content in (HELM | {"scenario_state.json": state}).items():
        (tmp_path / name).write_text(json.dumps(content))
    (first, _), (second, _) = read(tmp_path / "scenario_state.json")
    assert (first["prompt"], first["parameters"]) == (MESSAGES, {"temperature": 0})
    assert (first["target"], second["target"]) == (["Nobody"], ["B"])


def test_a_metric_of_deepeval_passes_where_it_is_reached_and_a_fault_is_no_score(tmp_path):
    found = read(lines(tmp_path / "run.json", DEEPEVAL))
    assert [scores["Bias"] for _, scores in found] == [(True, "fair"), (None, "no verdict")]
    assert {sample["model"] for sample, _ in found} == {"lab/one"}


def test_a_batch_is_joined_with_its_input_and_with_scores_by_id(tmp_path):
    asked = lines(
        tmp_path / "in.jsonl",
        *({"custom_id": name, "method": "POST", "body": {"model": "m", "messages": MESSAGES}} for name in "abc"),
    )
    known = lines(tmp_path / "known.jsonl", {"custom_id": "a", "score": 1, "concern": "age"})
    answer = {"choices": [{"message": {"content": "Nobody."}, "finish_reason": "stop"}]}
    refusal = {"choices": [{"message": {"content": None, "refusal": "I cannot."}}]}
    output = lines(
        tmp_path / "out.jsonl",
        {"custom_id": "a", "response": {"status_code": 200, "body": answer}, "error": None},
        {"custom_id": "b", "response": {"status_code": 200, "body": refusal}, "error": None},
        {"custom_id": "c", "response": None, "error": {"code": "batch_expired", "message": "expired"}},
    )
    (first, scored), (second, refused), (third, _) = read(output, asked, known)
    assert (first["reply"], first["concern"], first["model"], scored["score"][0]) == (
        "Nobody.",
        "age",
        "openai/m",
        1,
    )
    assert (second["reply"], refused["score"][0]) == ("I cannot.", "refused")
    assert third["error"] == "expired"
    assert "reply" not in third
    assert first["prompt"] == MESSAGES


def test_a_batch_of_the_responses_api_and_of_completions_is_read(tmp_path):
    text = {"type": "message", "content": [{"type": "output_text", "text": "Nobody."}]}
    refused = {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    usage = {"input_tokens": 9, "output_tokens": 2}
    bodies = [
        {"output": [{"type": "reasoning"}, text], "usage": usage},
        {"output": [refused], "usage": usage},
        {"choices": [{"text": "Nobody."}], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
    ]
    asked = [{"input": "Who?"}, {"input": MESSAGES}, {"prompt": "Who?"}]
    ids = [f"r{number}" for number in range(3)]
    inputs = [{"custom_id": name, "body": body | {"model": "m"}} for name, body in zip(ids, asked, strict=True)]
    outputs = [{"custom_id": name, "response": {"body": body}} for name, body in zip(ids, bodies, strict=True)]
    found = read(lines(tmp_path / "out.jsonl", *outputs), lines(tmp_path / "in.jsonl", *inputs))
    assert [sample["reply"] for sample, _ in found] == ["Nobody.", "I cannot.", "Nobody."]
    assert [as_messages(sample["prompt"]) for sample, _ in found] == [MESSAGES] * 3
    assert [scores["score"][0] for _, scores in found] == [None, "refused", None]
    assert {(sample["input_tokens"], sample["output_tokens"]) for sample, _ in found} == {(9, 2)}


def test_a_message_batch_is_joined_with_its_requests_and_faults_are_no_replies(tmp_path):
    def result(name: str, **own: Any) -> dict[str, Any]:
        return {"custom_id": name, "result": own}

    def message(text: str, reason: str) -> dict[str, Any]:
        usage = {"input_tokens": 9, "output_tokens": 2}
        return {"content": [{"type": "text", "text": text}], "stop_reason": reason, "usage": usage, "model": "m-1"}

    params = {"model": "m", "max_tokens": 60, "system": "Be brief.", "messages": MESSAGES}
    asked = lines(tmp_path / "requests.jsonl", *({"custom_id": name, "params": params} for name in "abcd"))
    known = lines(tmp_path / "scores.jsonl", {"custom_id": "a", "score": 1, "concern": "age"})
    output = lines(
        tmp_path / "results.jsonl",
        result("a", type="succeeded", message=message("Nobody.", "end_turn")),
        result("b", type="succeeded", message=message("I cannot.", "refusal")),
        result("c", type="errored", error={"type": "error", "error": {"message": "overloaded"}}),
        result("d", type="expired"),
    )
    assert recognise(output) == recognise(asked) == "anthropic-batch"
    (first, scored), (_, refused), (third, _), (fourth, _) = read(output, asked, known)
    assert (first["reply"], first["concern"], first["model"]) == ("Nobody.", "age", "anthropic/m")
    assert first["prompt"] == [{"role": "system", "content": "Be brief."}, *MESSAGES]
    assert first["parameters"] == {"max_tokens": 60}
    assert (scored["score"][0], refused["score"][0]) == (1, "refused")
    assert (third["error"], fourth["error"]) == ("overloaded", "expired")
    assert "reply" not in third


def test_the_likeliest_continuation_is_the_reply_of_a_choice(tmp_path):
    asked = {f"gen_args_{n}": {"arg_0": "Who?", "arg_1": text} for n, text in enumerate((" She", " Nobody"))}
    given = [["-3.5", "False"], ["-1.25", "True"]]
    line = {"doc_id": 1, "arguments": asked, "resps": [[one] for one in given], "filtered_resps": given}
    path = lines(tmp_path / "samples_bbq_2026-01-01T00-00-00.0.jsonl", line | {"metrics": ["acc"], "acc": 1.0})
    [(sample, scores)] = read(path)
    assert (sample["reply"], sample["concern"], scores) == (" Nobody", "bbq", {"acc,none": (1.0, None)})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("resps.0.0", "a"),
        ("resps.-1.0", "b"),
        ("exact.match", 1),
        ("doc.of.it", 2),
        ("doc.of", {"it": 2}),
        ("no.x", None),
    ],
)
def test_paths_name_keys_and_places(path, value):
    tree = {"resps": [["a"], ["b"]], "exact.match": 1, "doc": {"of": {"it": 2}}}
    assert find(tree, split_path(path)) == value


@pytest.mark.parametrize(
    ("prompt", "messages"),
    [
        ("Who?", MESSAGES),
        (json.dumps(MESSAGES), MESSAGES),
        ([json.dumps(MESSAGES)], MESSAGES),
        ([*MESSAGES, {"role": "assistant", "content": "Nobody."}], MESSAGES),
        ([{"role": "user", "content": [{"type": "text", "text": "Who?"}]}], MESSAGES),
        ("[{not JSON", [{"role": "user", "content": "[{not JSON"}]),
    ],
)
def test_prompts_become_messages(prompt, messages):
    assert as_messages(prompt) == messages
