"""What a rehearsal expects is what is then sent."""

import pytest

from biasgrid.tasks.interaction.prompts import WORD, rehearse


@pytest.mark.parametrize("protocol", ["study", "brief"])
async def test_a_rehearsal_has_every_request_of_a_play_whose_replies_are_as_long(stage, company, protocol):
    mitigations = ["none", "reflection_with_examples"]
    planned = stage.plays("a", "b", protocol=protocol, mitigations=mitigations)
    agents = company(reply_to=lambda _: WORD * 20)
    await stage.play(agents, planned)
    expected = [(party.target.name, messages) for play in planned for party, messages in rehearse(play, 20)]
    sent = [(model, request.messages) for model, request in agents.asked]
    assert sorted(expected, key=str) == sorted(sent, key=str)
    assert len(expected) == sum(play.requests for play in planned)
