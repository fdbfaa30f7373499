"""Pages of probes, red teams and interactions in each language that they speak."""

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest
from markupsafe import Markup

from biasgrid.catalogs.choices import Mitigation, Setting, StrategyName
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.tasks.report.figures import format_score, share, small
from biasgrid.tasks.report.html.interaction_pages import write_interaction_pages
from biasgrid.tasks.report.html.page import Speech, environment
from biasgrid.tasks.report.html.probe_pages import write_probe_page
from biasgrid.tasks.report.html.redteam_pages import write_red_team_page
from biasgrid.tasks.report.languages import LANGUAGES, words
from biasgrid.tasks.transcripts.sessions import OUTCOMES
from biasgrid.warehouse.storage.lake import Lake

KINDS: dict[str, tuple[Callable[..., list[Path]], str]] = {
    "probed": (write_probe_page, "Par por par"),
    "attacked": (write_red_team_page, "Qué ataques tienen éxito"),
    "talked": (write_interaction_pages, "A quién se asigna cada tarea"),
}
LABEL = re.compile(r"<(?:h2|th|dt|legend)[^>]*>(.*?)</|data-label=\"(.*?)\"")


@pytest.fixture(params=KINDS)
def spanish(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[str]]:
    """A heading of that kind of run, and its pages."""
    write, heading = KINDS[request.param]
    run: Any = request.getfixturevalue(request.param)
    paths = write(Lake(run.data), run.run_id, tmp_path, "es_es")
    return heading, [path.read_text(encoding="utf-8") for path in paths]


def test_pages_of_each_kind_are_in_spanish_throughout(spanish):
    heading, pages = spanish
    assert f">{heading}</h2>" in pages[0]
    own, english = words("pages", "es_es"), words("pages", "en_us")
    foreign = {text for key, text in english.items() if own[key] != text}
    for page in pages:
        assert '<html lang="es">' in page
        labels = {text for found in LABEL.findall(page) for text in found if text}
        assert labels & {*own.values()}
        assert labels & foreign == set()


def test_numbers_in_pages_have_the_signs_of_the_language(spanish):
    assert re.search(r"\d,\d\u00a0% <span class=\"faint\">\(de \d+,\d\u00a0% a ", spanish[1][0])
    assert not re.search(r"\d\.\d%", spanish[1][0])


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_open_no_markup_that_they_do_not_close(language):
    for key, text in words("pages", language).items():
        opened, closed = re.findall(r"<(\w+)>", text), re.findall(r"</(\w+)>", text)
        assert sorted(opened) == sorted(closed), key
        assert '"' not in text, key


def test_words_are_those_that_the_templates_ask_for():
    templates = files("biasgrid.tasks.report").joinpath("templates").iterdir()
    asked = "".join(path.read_text(encoding="utf-8") for path in templates if path.name.endswith(".j2"))
    whole = set(re.findall(r"\bt\('([\w.]+)'[,)]", asked))
    counted = {
        f"{what}.{form}" for what in re.findall(r"counted\('([\w.]+)'\)", asked) for form in ("one", "other")
    }
    assert whole | counted <= words("pages", LANGUAGES[0]).keys()
    kinds = {"value", "number", *re.findall(r"worded\('(\w+)'\)", asked), *re.findall(r"\bt\('(\w+)\.' ~", asked)}
    assert {key for key in words("pages", LANGUAGES[0]) if key.partition(".")[0] not in kinds} <= whole | counted


@pytest.mark.parametrize("language", LANGUAGES)
def test_whatever_we_ship_has_a_word(language):
    catalog = load_catalog()
    named = {"setting": get_args(Setting), "mitigation": get_args(Mitigation), "strategy": get_args(StrategyName)}
    shipped = {"axis": {*catalog.people, *catalog.probes}, "domain": catalog.scenes, "session": OUTCOMES}
    keys = {f"{kind}.{name}" for kind, names in (named | shipped).items() for name in names}
    assert keys - words("pages", language).keys() == set()


def test_a_text_that_a_language_does_not_have_is_an_error():
    for wrong in ("{{ t('no.such.text') }}", "{{ t('trial') }}"):
        with pytest.raises(KeyError):
            environment("es_es").from_string(wrong).render()


def test_numbers_are_written_as_in_the_language():
    speech = Speech("es_es")
    written = (
        speech.in_language(share)(0.5),
        speech.in_language(format_score)(-0.5),
        speech.in_language(small)(0.0001),
    )
    assert written == ("50,0\u00a0%", "−0,50", "< 0,001")
    assert speech.format_count(12_345, "trials") == "12.345 ensayos"
    assert speech.format_count(1, "trials") == "1 ensayo"
    assert Speech("en_us").format_count(12_345, "trials") == "12,345 trials"


def test_what_is_filled_in_is_escaped_and_what_only_a_catalog_knows_is_shown():
    speech = Speech("es_es")
    assert speech.text("against", baseline="<i>") == Markup("frente a <bdi>&lt;i&gt;</bdi>")
    assert speech.translate("biased") == "sesgado"
    assert speech.translate("<own>", "domain") == "&lt;own&gt;"
