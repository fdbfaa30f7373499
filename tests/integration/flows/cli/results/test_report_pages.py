"""`biasgrid report`: pages of a run of any kind, of all runs, in the language that is asked for."""

import pytest

pytestmark = pytest.mark.drill


def test_pages_of_a_benchmark_are_reported_by_the_file_to_open(biasgrid, finished, tmp_path):
    result = biasgrid("report", "--out", tmp_path / "out", "--data", finished.data)
    assert (result.code, result.out.split()) == (0, [str(tmp_path / "out" / "index.html")])
    assert f"send the folder {tmp_path / 'out'}" in " ".join(result.err.split())
    assert "genders-alike" in (tmp_path / "out" / "data" / "run.js").read_text()
    assert '<html lang="en"' in (tmp_path / "out" / "index.html").read_text()


def test_pages_begin_in_the_language_that_is_asked_for(biasgrid, finished, tmp_path):
    words = ("--format", "html", "--language", "es_es", "--out", tmp_path, "--data", finished.data)
    assert biasgrid("report", *words).code == 0
    assert '<html lang="es" data-language="es_es">' in (tmp_path / "index.html").read_text()


def test_all_runs_make_one_site(biasgrid, finished, tmp_path):
    result = biasgrid("report", "--all", "--out", tmp_path, "--data", finished.data)
    assert (result.code, result.out.split()) == (0, [str(tmp_path / "index.html")])
    assert result.err == "pages of 1 run written, of 0 kept as they were\n"
    page = tmp_path / "runs" / finished.run_id
    assert (page / "index.html").is_file()
    assert '"home":"../../index.html"' in (page / "data" / "run.js").read_text()
    again = biasgrid("report", "--all", "--out", tmp_path, "--data", finished.data)
    assert again.err == "pages of 0 runs written, of 1 kept as they were\n"


def test_pages_of_other_kinds_are_in_the_language_that_is_asked_for(biasgrid, attacked, tmp_path):
    words = ("--format", "html", "--language", "es_es", "--out", tmp_path, "--data", attacked.data)
    assert biasgrid("report", attacked.run_id, *words).code == 0
    assert '<html lang="es">' in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["probed", "attacked", "talked"])
def test_a_site_leads_to_pages_of_other_kinds(biasgrid, kind, request, tmp_path):
    other = request.getfixturevalue(kind)
    assert biasgrid("report", "--all", "--out", tmp_path, "--data", other.data).code == 0
    for page in (tmp_path / "runs" / other.run_id).glob("*.html"):
        assert '<a href="../../index.html">all runs</a>' in page.read_text(encoding="utf-8")
    assert f'"page":"runs/{other.run_id}/report.html"' in (tmp_path / "data" / "lake.js").read_text()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("RUN", "--all"), ("takes all runs, and a run is named", "leave one of the two out")),
        (("--all", "--format", "csv"), ("no csv report of all runs", "leave `--format` out")),
    ],
)
def test_what_all_runs_do_not_go_with_is_reported(biasgrid, finished, tmp_path, words, parts):
    asked = (finished.run_id if word == "RUN" else word for word in words)
    result = biasgrid("report", *asked, "--out", tmp_path, "--data", finished.data)
    assert result.is_a_mistake(*parts)
    assert not [*tmp_path.iterdir()]
