"""A user's connector that raises or returns what it should not: its model alone stops, nothing is lost."""

import pytest

from biasgrid.tasks.connectors.api import ConnectorBroken, Message, Parameters, Reply, Request, ServerFault
from biasgrid.tasks.connectors.client.model_pool import ModelPool
from biasgrid.tasks.connectors.contract import MOST_REQUESTS, check_contract
from biasgrid.tasks.connectors.rows import response_row
from biasgrid.warehouse.storage.journal_lines import line


class Own:
    """Returns what it is given, and raises exceptions."""

    def __init__(self, returned):
        self.returned, self.asked = returned, 0

    def __call__(self, target, key, catalog):
        return self

    async def ask(self, request):
        self.asked += 1
        if isinstance(self.returned, Exception):
            raise self.returned
        return self.returned

    async def close(self):
        raise RuntimeError("closing fails as well")


def request(key):
    return Request((Message("user", key),), Parameters(), key)


CASE = {"run_id": "R", "cell_id": "C", "case_id": "I", "messages": [], "parameters": "{}", "sample": 1}


@pytest.fixture
def asked(catalog, target, quick):
    """The answers of a connector that returns `returned`, and how often it was asked."""

    async def ask(returned, count=3):
        own = Own(returned)
        async with ModelPool(catalog, backoff=quick, connect=own) as pool:
            model = target("own", "", key_env=())
            answers = [await pool.answer(model, request(str(number)), 3) for number in range(count)]
        for number, answer in enumerate(answers):
            line(response_row(CASE | {"request_key": str(number)}, model, answer))
        return answers, own.asked

    return ask


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        (ValueError("sk-1234567890"), "raised `ValueError`"),
        (None, "returned `NoneType`"),
        ("Yes", "returned `str`"),
        (Reply(text=5), "returned `Reply(text=5)`"),
        (Reply(text=None), "returned `Reply(text=None)`"),
    ],
)
async def test_what_is_no_reply_and_no_error_of_connectors_stops_its_model_and_is_located(asked, returned, named):
    answers, count = await asked(returned)
    assert count == 1
    assert [type(answer.error) for answer in answers] == [ConnectorBroken] * 3
    message = str(answers[0].error)
    assert named in message
    assert f"{__file__}:" in message
    assert "sk-1234567890" not in message


async def test_side_fields_of_any_type_are_left_out_with_a_note(asked):
    reply = Reply("Yes", finish_reason=7, input_tokens=True, output_tokens=2**63, model_reported="m" * 9000)
    answers, _ = await asked(reply)
    kept = answers[0].reply
    assert (kept.text, kept.finish_reason, kept.input_tokens, kept.output_tokens) == ("Yes", None, None, None)
    assert len(kept.model_reported) < 300
    assert kept.note.count("left out") == 3


class Unpicklable(ServerFault):
    def __init__(self, what, where):
        super().__init__(what)


def fails(error):
    raise error


@pytest.mark.parametrize(
    ("connect", "rule", "named"),
    [
        (lambda: fails(ValueError()), "the factory makes a connector", "raised `ValueError`"),
        (lambda: object(), "the factory makes a connector", "no method `ask`"),
        (lambda: Own(None), "a prompt is answered by a text", "returned `NoneType`"),
        (lambda: Own(Unpicklable("a", "b")), "a prompt is answered by a text", "give `args` all its data"),
        (lambda: Own(ServerFault("the-key is wrong")), "a prompt is answered by a text", "holds the key"),
        (lambda: Own(Reply("Yes", output_tokens=-1)), "a prompt is answered by a text", "left out"),
        (lambda: Own(Reply("Yes")), "it closes", "raised `RuntimeError`"),
    ],
)
async def test_what_breaks_the_contract_is_found_by_a_few_requests(target, connect, rule, named):
    made = []
    found = await check_contract(target("own", ""), "the-key", lambda: made.append(connect()) or made[0])
    assert next(finding.breach for finding in found if finding.breach and finding.rule == rule).count(named) == 1
    assert sum(getattr(own, "asked", 0) for own in made) <= MOST_REQUESTS
