"""Names from files and models stay names, whichever way an artifact shows them."""

import pytest

from biasgrid.flows.terminal.markdown import Markup, block, cell, image, table


def test_a_table_escapes_names_and_leaves_what_is_markdown_already():
    escaped = table(("model", "trend"), [("a|b*c*", Markup("**worse**"))])
    assert escaped.splitlines()[-1] == r"| a\|b\*c\* | **worse** |"


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("sexism_ambiguity", "sexism_ambiguity"),
        ("gpt-4o, 95%", "gpt-4o, 95%"),
        ("_all_", r"\_all\_"),
        ("[x](http://y)", r"\[x\](http://y)"),
        ("<b>", r"\<b\>"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_cell_is_escaped_only_where_a_sign_would_be_a_command(name, escaped):
    assert cell(name) == escaped


def test_lines_to_be_copied_cannot_end_their_block():
    escaped = block(["echo '```'", "a\nb"]).splitlines()
    assert escaped == ["````sh", "echo '```'", "a b", "````"]


def test_a_picture_has_a_text_that_describes_it():
    assert image("<svg/>", "▁█ 0%, 100%").startswith("![▁█ 0%, 100%](data:image/svg+xml;base64,")
