"""Chatbots behind HTTP: what their files may say, and what is refused before anything is sent. A target file that
is to be attacked: every mistake at once, before anything is sent.
"""

from textwrap import dedent
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.catalogs.loading.documents import parse_document, validate
from biasgrid.catalogs.scenario.targets import resolve_attack
from biasgrid.catalogs.schema.endpoint_request import is_secret
from biasgrid.catalogs.schema.endpoints import Endpoint, found_at, steps
from biasgrid.catalogs.schema.models import Prices, endpoint_target

HELPDESK = """\
    id: helpdesk
    description: Answers customers of a shop.
    url: https://bot.example.com/api/chat
    headers: {Authorization: "Bearer ${HELPDESK_KEY}"}
    body: {message: "{message}", conversation: "{session}"}
    reply: data.0.text
    remembers: session
    usd_per_request: 0.002
    concurrency: 2
"""


def describe(text: str) -> Endpoint:
    return validate(Endpoint, parse_document(dedent(text), "bot.yaml"))


def mistakes(text: str) -> str:
    with pytest.raises(UserError) as caught:
        describe(text)
    return str(caught.value)


def test_a_chatbot_of_the_users_catalog_is_a_model(written, tmp_path):
    written("endpoints/helpdesk.yaml", HELPDESK)
    target = load_catalog(overlay=tmp_path).target("endpoint/helpdesk")
    assert (target.model, target.provider, target.connector) == ("endpoint/helpdesk", "endpoint", "http")
    assert target.prices == Prices(input=0, output=0, request=0.002)
    assert (target.limits.concurrency, "concurrency" in target.own_limits) == (2, True)
    assert target.endpoint is not None
    assert dict(target.endpoint.variables()) == {"HELPDESK_KEY": "Authorization"}


def test_a_misspelt_chatbot_is_answered_with_the_nearest(written, tmp_path):
    written("endpoints/helpdesk.yaml", HELPDESK)
    with pytest.raises(UserError, match="did you mean `helpdesk`") as caught:
        load_catalog(overlay=tmp_path).target("endpoint/helpdesc")
    assert "endpoints/helpdesc.yaml" in str(caught.value)


def test_a_file_of_endpoints_is_checked_with_its_line(written, tmp_path):
    written("endpoints/bot.yaml", "id: bot\nurl: http://b.example\nbody: {text: '{mesage}'}\n")
    with pytest.raises(UserError) as caught:
        load_catalog(overlay=tmp_path)
    (wrong,) = caught.value.mistakes
    assert wrong.where.endswith("endpoints/bot.yaml:3")
    assert "did you mean `message`" in wrong.what


def test_an_endpoint_written_elsewhere_is_a_model_too():
    inline = describe("url: http://127.0.0.1:9/chat\nbody: {q: '{message}', t: '{temperature}'}")
    target = endpoint_target("my-bot", inline)
    assert target.model == "endpoint/my-bot"
    assert target.parameters == ("temperature",)
    assert target.prices is None


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("url: bot.example.com\nbody: '{message}'", "must be an address that begins with http"),
        ("url: ftp://b.example\nbody: '{message}'", "must be an address that begins with http"),
        ("url: http://b.example:x1/\nbody: '{message}'", "must be an address that begins with http"),
        ("url: 'http://{session}.example'\nbody: '{message}'", "host written out"),
        ("url: 'http://b.example/?h={history}'", "`{history}` stands in bodies only"),
        ("url: http://b.example\nbody: hello", "sends no message"),
        ("url: http://b.example\nbody: 'a {{message}}'", "sends no message"),
        ("url: http://b.example\nbody: ['{history} and more']", "`{history}` is no text"),
        ("url: http://b.example\nbody: '{history}'", "write a mapping that holds it"),
        ("url: http://b.example\nbody: {e: '{earlier}'}", "sends no message"),
        ("url: http://b.example\nbody: {e: '{earlier}', h: '{history}'}", "send `{message}`, too"),
        ("url: http://b.example\nbody: 5", "must be a mapping, a list or a text"),
        ("url: http://b.example\nmethod: GET\nbody: '{message}'", "a GET has none"),
        ("url: http://b.example\nmethod: DELETE\nbody: '{message}'", "`method` is `DELETE`"),
        ('url: http://b.example\ncontent_type: application/json\nbody: \'{"q": "{message}"}\'', "write JSON as"),
        ("url: http://b.example\ncontent_type: text/plain\nbody: {q: '{message}'}", "`body` is no text"),
        (
            "url: http://b.example\ncontent_type: application/x-www-form-urlencoded\nbody: {q: {m: '{message}'}}",
            "a form holds texts",
        ),
        ("url: http://b.example\nbody: '{message}'\nheaders: {X: '{message}'}", "cannot be sent in a header"),
        ("url: http://b.example\nbody: '{message}'\nheaders: {'X Y': a}", "no header can be called"),
        ("url: http://b.example\nbody: '{message}'\nheaders: {Content-Type: a/b}", "write `content_type`"),
        ("url: http://b.example\nbody: '{message}'\nreply: a..b", "is no path"),
        ("url: http://b.example\nbody: '{message}'\nreply: 'a[x]'", "is no path"),
        ("url: http://b.example\nbody: '{message}'\nremembers: session", "write `{session}` into"),
        ("url: http://b.example\nbody: '{message}'\nsession_from: id", "write `remembers: session`"),
        (
            "url: 'http://b.example/{session}'\nbody: '{message}'\nremembers: session\nsession_from: id",
            "describe an `opening`",
        ),
        (
            "url: http://b.example\nbody: '{message}'\nopening: {url: 'http://b.example/{message}'}",
            "not known yet when a conversation is opened",
        ),
        ("url: http://b.example\nbody: '{message}'\nremember: cookie", "did you mean `remembers`"),
    ],
)
def test_what_cannot_be_asked_is_a_mistake(text, reported):
    assert reported in mistakes(text)


SECRETS = [
    "url: http://b.example\nbody: '{message}'\nheaders: {Authorization: Bearer s3cr3t-of-ours}",
    "url: http://b.example\nbody: '{message}'\nheaders: {X-API-Key: s3cr3t-of-ours}",
    "url: http://b.example\nbody: '{message}'\nheaders: {X-Any: Basic s3cr3t-of-ours}",
    "url: http://b.example\nbody: '{message}'\nheaders: {X-Any: sk-s3cr3t-of-ours}",
    "url: http://b.example\nbody: '{message}'\nheaders: {Cookie: sid=s3cr3t-of-ours}",
    "url: http://b.example/?api_key=s3cr3t-of-ours\nbody: '{message}'",
    "url: http://u:s3cr3t-of-ours@b.example/\nbody: '{message}'",
    "url: http://u:s3cr3t-of-ours@b.example:x/ y\nbody: '{message}'",
    "url: http://b.example\nbody: {q: '{message}', access_token: s3cr3t-of-ours}",
    "url: http://b.example\nbody: {q: '{message}', k: '${MY_KEY} s3cr3t-of-ours'}",
    "url: http://b.example\nbody: '{message}'\nopening: {url: 'http://b.example?token=s3cr3t-of-ours'}",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_key_that_stands_in_a_file_is_refused_and_not_shown(text):
    reported = mistakes(text)
    assert "${MY_BOT_KEY}" in reported
    assert "s3cr3t" not in reported


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", "Bearer ${KEY}"),
        ("X-Session-Token", "{session}"),
        ("Accept", "application/json"),
        ("X-Mode", "task-oriented-dialogue"),
        ("max_tokens", "a hundred"),
        ("X-Request", "5f0c2a52-2a4e-4c57-9f5a-0c9b0f5d2b11"),
    ],
)
def test_what_is_no_key_is_not_taken_for_one(name, value):
    assert not is_secret(name, value)


DOCUMENT = {"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}], "x.y": {"0": "c"}}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("choices[0].message.content", ["a"]),
        ("$.choices.0.message.content", ["a"]),
        ("choices[-1].message.content", ["b"]),
        ("choices[*].message.content", ["a", "b"]),
        ('["x.y"].0', ["c"]),
        ("['x.y']['0']", ["c"]),
    ],
)
def test_a_path_leads_to_values(path, values):
    assert list(found_at(DOCUMENT, steps(path))) == values


@pytest.mark.parametrize("path", ["choices[2]", "choices.message", "nowhere", "choices[0][*]", "choices[-3]"])
def test_a_path_that_leads_nowhere_is_reported(path):
    with pytest.raises(LookupError):
        list(found_at(DOCUMENT, steps(path)))


PARTS = {"attacker": "simulated/attacker", "judge": "simulated/red-judge"}


def write_target(**settings: Any) -> dict[str, Any]:
    return {"target": {"models": ["simulated/fair"]}, "redteam": {**PARTS, **settings}}


def list_refusals(given: dict[str, Any]) -> str:
    with pytest.raises(UserError) as reported:
        resolve_attack(given)
    return str(reported.value)


def test_a_file_is_resolved_and_read_again_the_same():
    resolved = resolve_attack(write_target(turns=3))
    again = resolve_attack(resolved.as_json())
    assert (again.file.redteam, again.file.target) == (resolved.file.redteam, resolved.file.target)
    assert (again.judge, again.attacker) == (resolved.judge, resolved.attacker)
    assert {target.model for target in resolved.asked} == {"simulated/fair", *PARTS.values()}


@pytest.mark.parametrize("seed", range(5))
def test_as_many_pairs_are_drawn_as_are_wanted_all_with_words_in_its_languages(seed):
    given = write_target(pairs=9) | {"asking": {"seed": seed}}
    given["target"]["languages"] = ["en_us", "ca_es"]
    pairs = [pair for _, pair in resolve_attack(given).pairs]
    assert len(pairs) == 9
    assert all({"en_us", "ca_es"} <= pair.attributes.keys() for pair in pairs)


def test_a_judge_there_must_be():
    assert "no judge is named" in list_refusals(write_target(judge=None))


def test_an_attacker_is_needed_by_most_strategies_and_not_by_all():
    assert "`direct`" in list_refusals(write_target(attacker=None))
    resolve_attack(write_target(attacker=None, strategies=["one_shot", "implicit_separated"]))


def test_no_model_judges_its_own_replies_unless_allowed():
    own = write_target(judge="simulated/fair")
    assert "would judge its own replies" in list_refusals(own)
    own["redteam"]["judge_may_be_target"] = True
    resolve_attack(own)


def test_what_is_unknown_is_reported_with_what_is_near_all_at_once():
    reported = list_refusals(write_target(pairs=["doctor-nurze"], axes=["gendre"], judge="simulated/red-juge"))
    for part in ("doctor-nurse", "`gender`", "red-judge"):
        assert part in reported
    assert "`flattery`" in list_refusals(write_target(strategies=["flattery"]))
