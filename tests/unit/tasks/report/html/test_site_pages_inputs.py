"""What pages are made of: another text, another way to show it or another program makes another digest."""

from biasgrid.tasks.report.html.site_pages import digest, program


def test_a_digest_distinguishes_content_from_content_and_language_from_language():
    digests = {
        digest(["marts.costs:1/7"], language="en_us", ways=None),
        digest(["marts.costs:1/8"], language="en_us", ways=None),
        digest(["marts.costs:1/7"], language="es_es", ways=None),
        digest(["marts.costs:1/7"], language="en_us", ways={"home": "../../index.html"}),
    }
    assert len(digests) == 4
    assert digest(["marts.costs:1/7"], ways=None, language="en_us") in digests


def test_a_program_is_another_where_a_script_a_style_or_a_word_is(tmp_path):
    (tmp_path / "site").mkdir()
    digests = [program(tmp_path)]
    for name in ("run_pages.py", "site/page.css", "site/run.js", "site/words.json"):
        (tmp_path / name).write_text("one")
        digests.append(program(tmp_path))
        (tmp_path / name).write_text("other")
        digests.append(program(tmp_path))
    assert len(set(digests)) == len(digests)
    (tmp_path / "run_pages.pyc").write_text("compiled")
    assert program(tmp_path) == digests[-1]
