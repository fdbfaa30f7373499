"""Names from files and models stay names, whichever way an artifact shows them."""

import pytest

from biasgrid.flows.terminal.markdown import Markup, block, cell, image, table


def test_a_table_escapes_names_and_leaves_what_is_markdown_already():
    told = table(("model", "trend"), [("a|b*c*", Markup("**worse**"))])
    assert told.splitlines()[-1] == r"| a\|b\*c\* | **worse** |"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sexism_ambiguity", "sexism_ambiguity"),
        ("gpt-4o, 95%", "gpt-4o, 95%"),
        ("_all_", r"\_all\_"),
        ("[x](http://y)", r"\[x\](http://y)"),
        ("<b>", r"\<b\>"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_cell_is_escaped_only_where_a_sign_would_be_a_command(name, told):
    assert cell(name) == told


def test_lines_to_be_copied_cannot_end_their_block():
    told = block(["echo '```'", "a\nb"]).splitlines()
    assert told == ["````sh", "echo '```'", "a b", "````"]


def test_a_picture_says_what_it_shows_where_it_is_not_shown():
    assert image("<svg/>", "▁█ 0%, 100%").startswith("![▁█ 0%, 100%](data:image/svg+xml;base64,")
