from __future__ import annotations

from biasgrid.tasks.transcripts.excerpt import LONGEST, Excerpt


def test_a_text_knows_what_is_left_out():
    assert Excerpt.of(None) is None
    excerpt = Excerpt.of("x" * (LONGEST + 3))
    assert excerpt is not None
    assert (len(excerpt.text), excerpt.left_out) == (LONGEST, 3)
