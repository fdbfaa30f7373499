"""Connectors by name: ours, a user's own, and one clear message for what is not there. Models on this machine, up
to where weights would be loaded.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from textwrap import dedent

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.tasks.connectors import registry
from biasgrid.tasks.connectors.registry import connect
from biasgrid.tasks.connectors.rows import fingerprint


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a package with a connector, the way a user's own would be."""

    def install(name, code):
        package = tmp_path / f"plug_{name}.py"
        package.write_text(dedent(code))
        metadata = tmp_path / f"plug_{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: plug-{name}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[biasgrid.connectors]\n{name} = plug_{name}:connect\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


def test_a_misspelt_connector_is_offered_the_right_one(catalog, target):
    with pytest.raises(UserError, match="did you mean `openai`"):
        registry.connect(target("opena", ""), None, catalog)


def test_a_users_own_connector_is_found(installed, catalog, target):
    installed("mine", "def connect(target, key, catalog):\n    return (target.name, key)\n")
    assert registry.connect(target("mine", ""), "k", catalog) == ("some-model", "k")
    assert "mine" in registry.names()


def test_a_users_own_cannot_take_a_shipped_name(installed, catalog, target):
    installed("replay", "def connect(target, key, catalog):\n    return 'theirs'\n")
    with pytest.raises(UserError):
        registry.connect(target("replay", "", name="missing.csv"), None, catalog)


def test_a_missing_sdk_is_named(installed, catalog, target):
    installed("needy", "import an_sdk_that_nobody_has\n")
    with pytest.raises(UserError, match="`an_sdk_that_nobody_has`, which is not installed"):
        registry.connect(target("needy", ""), None, catalog)


def test_an_entry_point_to_nothing_is_named(installed, catalog, target):
    installed("hollow", "")
    with pytest.raises(UserError, match="hollow"):
        registry.connect(target("hollow", ""), None, catalog)


def test_the_registry_loads_no_sdk():
    code = (
        "import sys, biasgrid.tasks.connectors.client.model_pool, biasgrid.tasks.connectors.workers\n"
        "print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"openai", "huggingface_hub", "replicate", "polars", "aiohttp", "httpx", "httpx2"} & set(loaded)


def test_a_checked_target_of_openai_loads_no_sdk_before_its_first_request():
    code = (
        "import sys\n"
        "from biasgrid.catalogs.loading.catalog import load_catalog\n"
        "from biasgrid.tasks.connectors.client.model_pool import ModelPool\n"
        "catalog = load_catalog()\n"
        "ModelPool(catalog).prepare([catalog.target('openai/gpt-4o-mini')])\n"
        "import biasgrid.warehouse.build.build, biasgrid.tasks.prompt.reuse\n"
        "print(*sys.modules)"
    )
    environment = os.environ | {"OPENAI_API_KEY": "sk-test"}
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.split()
    heavy = {"openai", "aiohttp", "httpx2", "sqlglot", "tiktoken", "great_expectations", "prefect.server"}
    assert not heavy & set(loaded)


def test_a_directory_without_a_model_is_a_mistake(tmp_path):
    catalog = load_catalog()
    with pytest.raises(UserError, match="holds no model"):
        connect(catalog.target(f"local/{tmp_path}"), None, catalog)


@pytest.mark.skipif(find_spec("torch") is not None, reason="the extra `finetune` is installed")
def test_what_is_missing_is_named_with_what_to_do(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}")
    catalog = load_catalog()
    with pytest.raises(UserError) as shown:
        connect(catalog.target(f"local/{tmp_path}"), None, catalog)
    for part in ("`torch`", "`peft`", "make env-finetune"):
        assert part in str(shown.value)


def test_replies_of_another_adapter_in_the_same_place_are_not_taken_for_its_own(tmp_path):
    catalog = load_catalog()
    target = catalog.target(f"local/{tmp_path}")
    (tmp_path / "adapter_config.json").write_text("{}")
    (tmp_path / "adapter_model.safetensors").write_bytes(b"one")
    first = fingerprint(target, catalog)
    assert fingerprint(target, catalog) == first
    (tmp_path / "adapter_model.safetensors").write_bytes(b"two")
    assert fingerprint(target, catalog) != first


def test_nothing_is_paid_for_a_model_on_this_machine(tmp_path):
    prices = load_catalog().target(f"local/{tmp_path}").prices
    assert prices is not None
    assert (prices.input, prices.output) == (0, 0)
