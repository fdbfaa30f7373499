"""Recorded replies of every shape that they come in."""

import json

import pytest

from biasgrid.catalogs.importers import responses
from biasgrid.catalogs.importers.result import Imported, NotTheFormat


def read(text: str) -> Imported:
    return responses.read(text, "f", "en_us")


def pairs(text: str) -> list[tuple[str, str]]:
    return [(reply.prompt, reply.response) for reply in read(text).replies]


def test_langbites_responses_keep_provider_and_model():
    found = read(
        ',Provider,Model,Instance,Response\n0,OpenAI,small,"Are men bad?\nSay.","No, ""never"""\n'
    ).replies
    assert [(one.prompt, one.response, one.model) for one in found] == [
        ("Are men bad?\nSay.", 'No, "never"', "OpenAI/small")
    ]


@pytest.mark.parametrize("header", ["prompt,response", "Question,Answer", "INPUT,Output", "query;completion"])
def test_columns_go_by_several_names(header):
    separator = ";" if ";" in header else ","
    assert pairs(f"{header}\nWho?{separator}Nobody.\n") == [("Who?", "Nobody.")]


def test_a_tab_separates_too():
    assert pairs("prompt\ttext\nWho, me?\tNobody.\n") == [("Who, me?", "Nobody.")]


@pytest.mark.parametrize(
    "line",
    [
        {"prompt": "Who?", "response": "Nobody."},
        {"messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Nobody."}]},
        {"messages": [{"role": "user", "content": "Who?"}], "response": "Nobody."},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Who?"}]}], "response": "Nobody."},
        {"conversations": [{"from": "human", "value": "Who?"}, {"from": "gpt", "value": "Nobody."}]},
        {"prompt": "Who?", "choices": [{"message": {"role": "assistant", "content": "Nobody."}}]},
    ],
)
def test_json_lines_and_chat_logs_are_read(line):
    assert pairs(json.dumps(line)) == [("Who?", "Nobody.")]


def test_a_longer_log_is_asked_as_one_text():
    log = [("system", "Be brief."), ("user", "Who?"), ("assistant", "Nobody.")]
    line = {"messages": [{"role": role, "content": text} for role, text in log]}
    assert pairs(json.dumps(line)) == [("system: Be brief.\n\nuser: Who?\n\nassistant:", "Nobody.")]


def test_rows_without_prompt_or_reply_are_refused_by_line():
    found = read("prompt,response\nWho?,Nobody.\n,Nobody.\nWho?,\nWho else?,  \n")
    assert [(one.where, one.what) for one in found.refused] == [
        ("f:3", "has no prompt"),
        ("f:4", "has no reply"),
        ("f:5", "has no reply"),
    ]
    assert (found.rows, found.lost, len(found.replies)) == (4, 3, 1)


def test_lines_that_are_no_objects_are_refused():
    found = read('{"prompt": "Who?", "response": "I."}\n[]\n{"messages": [{"content": "x"}]}\n{"prompt": "x"')
    assert [one.where for one in found.refused] == ["f:2", "f:3", "f:4"]


def test_doubles_are_named_once_per_prompt_and_model():
    found = read("model,prompt,response\na,Who?,I.\na,Who?,You.\nb,Who?,We.\na,Why?,So.\n")
    assert found.notices == ("f:2: 2 replies to one prompt, kept as its samples in this order",)
    assert len(found.replies) == 4


@pytest.mark.parametrize("text", ["prompt,score\nWho?,1\n", '{"id": 1, "score": 2}\n', "a\nb\n"])
def test_a_file_without_prompts_or_replies_is_reported_at_once(text):
    with pytest.raises(NotTheFormat, match="f:1"):
        read(text)
