"""Models on this machine, up to where weights would be loaded."""

from importlib.util import find_spec

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import load_catalog
from biasgrid.tasks.connectors.registry import connect
from biasgrid.tasks.connectors.rows import fingerprint


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
