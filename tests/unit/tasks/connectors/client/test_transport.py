"""Proxies and .netrc of the environment, between every SDK and its server."""

import pytest

pytestmark = pytest.mark.parametrize("provider", ["openai", "azure", "huggingface", "replicate"])


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def test_the_environments_proxy_is_used(provider, server, reach, ask, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url)
    reply = await reach(provider, base_url="http://models.invalid").ask(ask())
    assert reply.text == "Yes"
    assert server.received[0].headers["host"] == "models.invalid"


async def test_what_no_proxy_names_is_reached_directly(provider, server, reach, ask, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert (await reach(provider).ask(ask())).text == "Yes"


async def test_a_netrc_entry_does_not_replace_the_key(provider, server, reach, ask, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    assert (await reach(provider).ask(ask())).text == "Yes"
    assert "Basic" not in str(server.received[0].headers)
