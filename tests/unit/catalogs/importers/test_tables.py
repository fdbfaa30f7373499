"""Tables as spreadsheets and scripts write them. Recorded replies of every shape that they come in. Which format
a file looks like.
"""

import csv
import json

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.importers import responses
from biasgrid.catalogs.importers.formats import looks_like
from biasgrid.catalogs.importers.result import Imported, NotTheFormat
from biasgrid.catalogs.loading.tables import read_table
from biasgrid.catalogs.loading.text_files import read_table_text


def cells(text: str) -> list[tuple[int, dict[str, str]]]:
    return [(row.line, row.cells) for row in read_table(text, "f").rows()]


def test_rows_know_the_line_they_begin_on():
    assert cells('a,B\n"x\ny",1\n\n , \nz,2\n') == [(2, {"a": "x\ny", "b": "1"}), (6, {"a": "z", "b": "2"})]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_the_separator_is_the_headers(separator):
    assert cells(f"a{separator}b\r\n1{separator}2\r\n") == [(2, {"a": "1", "b": "2"})]


@pytest.mark.parametrize(
    ("before", "lines"), [("sep=;\n", 1), ('"sep=;"\n', 1), ("\n", 1), (";;\n", 1), ("SEP=;\n\n", 2)]
)
def test_lines_that_a_spreadsheet_writes_before_the_header_are_none_of_it(before, lines):
    assert cells(f"{before}a;b,c;d\n1;2;3\n") == [(lines + 2, {"a": "1", "b,c": "2", "d": "3"})]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_text_is_read_in_the_encoding_that_a_spreadsheet_saved(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes("naïve;año\r\n“1”;2 €\r\n".encode(encoding))
    assert cells(read_table_text(tmp_path / "a.csv")) == [(2, {"naïve": "“1”", "año": "2 €"})]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("año, niño, €, ".encode() * 9 + b"\xf1", "is not UTF-8 text"),
        (b"\xf1\x81", "is not UTF-8 text"),
        (b"PK\x03\x04\x81\x8d", "is no text: it is an Excel workbook or a zip"),
        (b"a,b\n\x00\xf1,1\n", "is not UTF-8 text"),
    ],
)
def test_what_is_damaged_is_not_taken_for_another_encoding(tmp_path, given, reason):
    (tmp_path / "a.csv").write_bytes(given)
    with pytest.raises(UserError, match=reason):
        read_table_text(tmp_path / "a.csv")


def test_a_short_row_lacks_its_last_cells():
    [row] = read_table("a,b\n1\n", "f").rows()
    assert (row.text("a"), row.text("b")) == ("1", "")


def test_a_very_long_reply_is_a_cell_and_the_limit_of_others_stays():
    limit = csv.field_size_limit()
    [(_, found)] = cells(f"a,b\n{'x' * 200_000},1\n")
    assert len(found["a"]) == 200_000
    assert csv.field_size_limit() == limit


def test_a_cell_beyond_all_measure_is_a_mistake_with_its_line():
    with pytest.raises(UserError, match="f:3: cannot be read"):
        cells(f"a\n1\n{'x' * 10_000_001}\n")


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


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"example_id": 1, "answer_info": {}}\n', "bbq"),
        (",sent_more,sent_less,stereo_antistereo,bias_type\n", "crows-pairs"),
        ("category,dataset,A,B,C\n", "iat"),
        (",Provider,Model,Instance,Response\n", "responses"),
        ('{"messages": []}\n', "responses"),
        (",Scenarios\n", "interactions"),
        (",Scene,Characters\n", "interactions"),
        ('{\n"nTemplates": 3\n}', "langbite"),
        (
            "prompt_id\tconcern\tinput_type\treflection_type\ttask_prefix\tprompt\toutput_formatting\toracle"
            "\toracle_prediction\n",
            "langbite",
        ),
        ("one,two\n", None),
        ("", None),
    ],
)
def test_a_first_line_identifies_the_format(text, name):
    assert looks_like(text) == name
