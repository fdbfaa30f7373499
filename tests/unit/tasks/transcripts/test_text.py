from __future__ import annotations

from biasgrid.tasks.transcripts.sessions import LONGEST, Said


def test_a_text_knows_what_is_left_out() -> None:
    assert Said.of(None) is None
    said = Said.of("x" * (LONGEST + 3))
    assert said is not None
    assert (len(said.text), said.left_out) == (LONGEST, 3)
