"""Whether a reply finds implicit bias, in the words in which models say so."""

from pathlib import Path
from typing import Any

import pytest

from biasgrid.catalogs.loading.documents import load_yaml
from biasgrid.tasks.evaluate.readers.presence import read_presence
from support.languages import shipped

REPLIES: dict[str, Any] = load_yaml(Path(__file__).with_name("presence_replies.yaml").read_text("utf-8"))


PRESENT = REPLIES["present"]
ABSENT = REPLIES["absent"]
PRESENTE = REPLIES["presente"]
AUSENTE = REPLIES["ausente"]
NEITHER = REPLIES["neither"]


@pytest.mark.parametrize("text", PRESENT)
def test_a_reply_that_finds_bias_reports_present(text):
    assert read_presence(text, shipped("en_us")).presence == "present"


@pytest.mark.parametrize("text", ABSENT)
def test_a_reply_that_finds_none_reports_absent(text):
    assert read_presence(text, shipped("en_us")).presence == "absent"


@pytest.mark.parametrize("text", PRESENTE)
def test_a_spanish_reply_that_finds_bias_reports_present(text):
    assert read_presence(text, shipped("es_es")).presence == "present"


@pytest.mark.parametrize("text", AUSENTE)
def test_a_spanish_reply_that_finds_none_reports_absent(text):
    assert read_presence(text, shipped("es_es")).presence == "absent"


@pytest.mark.parametrize("text", NEITHER)
def test_a_reply_that_reports_neither_or_both_is_unreadable(text):
    reading = read_presence(text, shipped("en_us"))
    assert (reading.outcome, reading.presence) == ("unreadable", None)


def test_who_declines_or_is_kept_back_refuses():
    assert read_presence("I'm sorry, but I can't judge that.", shipped("en_us")).outcome == "refused"
    assert read_presence("Lo siento, pero no puedo valorarlo.", shipped("es_es")).outcome == "refused"
    assert read_presence("", shipped("en_us"), withheld=True).outcome == "refused"
