"""Recorded replies stand in for a model: CSV as LangBiTe writes it, Parquet as our lake holds it."""

import polars as pl
import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.schema.entries import Template
from biasgrid.catalogs.schema.oracle import Oracle
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.api import Message, Parameters, Request, RequestRejected
from biasgrid.tasks.connectors.providers.replay import Replay, read_recording


@pytest.fixture
def replay(catalog, target):
    def make(path):
        return registry.connect(target("replay", "", name=str(path), model=f"replay/{path}"), None, catalog)

    return make


@pytest.fixture
def template():
    def make(**fields):
        oracle = Oracle(operation="equal", expected=("No",))
        common = {"language": "en_us", "concern": "sexism", "input": "constrained", "reflection": "observational"}
        return Template(oracle=oracle, **common, **fields)

    return make


@pytest.fixture
def csv(tmp_path):
    def write(text, name="recorded.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


async def test_langbites_responses_are_read_as_they_are(csv, replay, ask):
    path = csv(
        ',Provider,Model,Instance,Response\n0,OpenAI,gpt,"Are they, really?",No\n1,OpenAI,gpt,Why?,"Be\ncause "\n'
    )
    assert (await replay(path).ask(ask("Are they, really?"))).text == "No"
    reply = await replay(path).ask(ask("Why?"))
    assert (reply.text, reply.model_reported) == ("Be\ncause ", "gpt")


FRAMED = 'Agree? The sentence is delimited by """. """Are men wise?""". Begin with Yes.'


async def test_langbites_bare_instance_is_found_in_the_prompt_around_it(csv, replay, ask):
    connector = replay(csv("Provider,Model,Instance,Response\nOpenAI,gpt,Are men wise?,yes\n"))
    assert (await connector.ask(ask("Are men wise? Begin with Yes."))).text == "yes"
    assert (await connector.ask(ask(FRAMED))).text == "yes"


async def test_a_failure_that_langbite_wrote_is_no_reply(csv, replay, ask):
    connector = replay(csv("Provider,Model,Instance,Response\nOpenAI,gpt,q,ERROR: time-out\n"))
    with pytest.raises(RequestRejected, match="no reply"):
        await connector.ask(ask("q"))


def _asking(template, number, **fields):
    return template(id=str(number), line=number, prompt="Are {GENDER1} wise?", **fields)


async def test_templates_with_one_question_take_its_rows_in_langbites_order(csv, template, ask):
    path = csv("Provider,Model,Instance,Response\nOpenAI,gpt,Are men wise?,yes\nOpenAI,gpt,Are men wise?,no\n")
    asking = [_asking(template, 1, prefix="Agree?"), _asking(template, 2, format="Be brief.")]
    connector = Replay(read_recording(str(path)), asking)
    assert (await connector.ask(ask("Are men wise? Be brief."))).text == "no"
    assert (await connector.ask(ask(FRAMED))).text == "yes"


async def test_rows_that_no_order_assigns_to_templates_are_ambiguous(csv, template, ask):
    rows = "".join(f"OpenAI,gpt,Are men wise?,{text}\n" for text in ("yes", "no", "maybe"))
    path = csv(f"Provider,Model,Instance,Response\n{rows}")
    asking = [_asking(template, 1, prefix="Agree?"), _asking(template, 2, format="Be brief.")]
    connector = Replay(read_recording(str(path)), asking)
    with pytest.raises(RequestRejected, match=r"ambiguous: 3 replies to 'Are men wise[?]', which 2 templates ask"):
        await connector.ask(ask("Are men wise? Be brief."))


@pytest.mark.parametrize(
    "text", ["  No. ", "a\r\nb", 'say ""no""', "001", "null", "NaN", "«Sí» 👍", "1.50", "true"]
)
async def test_a_recorded_text_is_kept_as_it_was(csv, replay, ask, text):
    path = csv(f'prompt,text\nq,"{text}"\n')
    assert (await replay(path).ask(ask("q"))).text == text.replace('""', '"')


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("separator", [";", "\t"])
async def test_a_recording_that_a_spreadsheet_saved_is_read(tmp_path, replay, ask, encoding, separator):
    (tmp_path / "r.csv").write_bytes(f"prompt{separator}text\r\n¿sí?{separator}año, €\r\n".encode(encoding))
    assert (await replay(tmp_path / "r.csv").ask(ask("¿sí?"))).text == "año, €"


async def test_an_empty_field_is_an_empty_reply(csv, replay, ask):
    path = csv("prompt,text\nq,\n")
    assert (await replay(path).ask(ask("q"))).text == ""


async def test_rows_of_one_prompt_are_its_samples_in_order(csv, replay, ask):
    connector = replay(csv("prompt,response\nq,first\nother,x\nq,second\n"))
    assert (await connector.ask(ask("q", sample=2))).text == "second"
    assert (await connector.ask(ask("q", sample=1))).text == "first"
    with pytest.raises(RequestRejected, match="2 replies"):
        await connector.ask(ask("q", sample=3))


async def test_a_prompt_that_was_not_recorded_is_rejected_by_name(csv, replay, ask):
    with pytest.raises(RequestRejected, match="no reply to sample 1 of 'never asked'"):
        await replay(csv("prompt,text\nq,a\n")).ask(ask("never asked"))


async def test_the_prompt_must_match_exactly_where_it_was_recorded_whole(csv, replay, ask):
    with pytest.raises(RequestRejected):
        await replay(csv("prompt,text\nq,a\n")).ask(ask("q "))


async def test_a_request_key_comes_before_the_prompt(csv, replay, ask):
    connector = replay(csv("request_key,prompt,text\nk1,q,first\nk2,q,second\n"))
    assert (await connector.ask(ask("q", key="k2"))).text == "second"
    assert (await connector.ask(ask("q", key="unknown"))).text == "first"


async def test_parquet_from_the_lake_is_replayed_by_its_messages(tmp_path, replay):
    talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "So?"}]
    frame = pl.DataFrame(
        {
            "provider": ["openai"] * 3,
            "model": ["openai/a"] * 3,
            "messages": [[talk[1]], [talk[1]], talk],
            "sample": [2, 1, 1],
            "text": ["second", "first", "brief"],
            "finish_reason": ["stop", "content_filter", None],
        }
    )
    frame.write_parquet(tmp_path / "lake.parquet")
    connector = replay(tmp_path / "lake.parquet")
    single = Request((Message("user", "So?"),), Parameters(), "k")
    reply = await connector.ask(single)
    assert (reply.text, reply.finish_reason) == ("first", "content_filter")
    both = Request((Message("system", "Be brief."), Message("user", "So?")), Parameters(), "k")
    assert (await connector.ask(both)).text == "brief"


async def test_failures_in_the_lake_are_not_replies(tmp_path, replay, ask):
    frame = pl.DataFrame({"prompt": ["q", "q"], "text": [None, "Yes"]})
    frame.write_parquet(tmp_path / "lake.parquet")
    assert (await replay(tmp_path / "lake.parquet").ask(ask("q"))).text == "Yes"


async def test_of_several_models_one_is_chosen(csv, replay, ask):
    path = csv("Provider,Model,Instance,Response\nOpenAI,gpt,q,a\nHF,gpt,q,b\nHF,llama,q,c\n")
    with pytest.raises(UserError, match="3 models"):
        replay(path)
    assert (await replay(f"{path}#llama").ask(ask("q"))).text == "c"
    with pytest.raises(UserError, match=r"#HF/gpt, replay/.*#OpenAI/gpt"):
        replay(f"{path}#gpt")
    assert (await replay(f"{path}#HF/gpt").ask(ask("q"))).text == "b"
    with pytest.raises(UserError, match="did you mean `HF/llama`"):
        replay(f"{path}#lama")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("recorded.csv", "prompt,answer\nq,a\n", "no column for replies"),
        ("recorded.csv", "question,text\nq,a\n", "no column for prompts"),
        ("recorded.csv", "", "cannot be read"),
        ("recorded.parquet", "no parquet", "cannot be read"),
        ("recorded.csv", "prompt,Text,text\nq,a,b\n", "cannot be read"),
        ("x" * 300 + ".csv#" + "gpt", None, "cannot be read"),
        ("recorded.xlsx", "x", "neither CSV nor Parquet"),
    ],
)
def test_a_file_that_cannot_be_replayed_is_a_mistake(csv, replay, name, content, message):
    path = csv(content, name) if content is not None else name
    with pytest.raises(UserError, match=message) as caught:
        replay(path)
    assert name.partition("#")[0] in str(caught.value)


def test_a_missing_file_is_a_mistake(tmp_path, replay):
    with pytest.raises(UserError, match=r"gone\.csv` does not exist"):
        replay(tmp_path / "gone.csv")
