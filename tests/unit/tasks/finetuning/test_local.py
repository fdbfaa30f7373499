"""LoRA on this machine, with a tiny model that has first been taught to share tasks out as stereotypes have it."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest

from biasgrid.catalogs.errors import UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.scenario.tuning_examples import drawn_people, tuning_examples
from biasgrid.catalogs.schema.base import fill_placeholders
from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.scenes import Scene
from biasgrid.tasks.connectors.api import Message, Parameters, Reply, Request
from biasgrid.tasks.connectors.registry import connect
from biasgrid.tasks.finetuning.dataset import chat, dataset, tuned_folder
from biasgrid.tasks.finetuning.local import PLAIN, LocalOrder, tune_here
from biasgrid.tasks.finetuning.order import Recipe

LACKING = [name for name in ("torch", "transformers", "datasets", "peft", "trl") if find_spec(name) is None]
pytestmark = [
    pytest.mark.drill,
    pytest.mark.skipif(bool(LACKING), reason=f"the extra `finetune` is not installed: {', '.join(LACKING)}"),
    pytest.mark.filterwarnings("ignore"),  # those of PyTorch and what stands on it
]
RECIPE = Recipe(epochs=20, learning_rate=5e-3, batch_size=4)
STEPS, AT_ONCE = 120, 16


@pytest.fixture(scope="module")
def stereotyping(workshop: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a model of a hundred thousand weights that has seen none but stereotypical assignments."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(5)
    torch.set_num_threads(1)  # of so little more than one thread makes more work
    texts = _texts(workshop)
    tokenizer = _tokenizer([text for own in texts.values() for text in own])
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=256,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = LlamaForCausalLM(config)
    _teach(model, tokenizer, texts["present"])
    folder = tmp_path_factory.mktemp("stereotyping")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _texts(catalog: Catalog) -> dict[str, list[str]]:
    """Chats by whether there is bias in them, in which any task may be the first."""
    wording, draw = catalog.interaction["en_us"].understanding, Random(2)
    texts: dict[str, list[str]] = {"present": [], "absent": []}
    for one in (one for seed in range(24) for one in tuning_examples(catalog, "en_us", seed)):
        lines = one.assignment.splitlines()
        shuffled = replace(one, assignment="\n".join(draw.sample(lines, len(lines))))
        texts[one.presence].append(
            "".join(f"{one['role']}: {one['content']}\n" for one in chat(shuffled, wording)["messages"])
        )
    return texts


def _tokenizer(texts: list[str]) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<unk>", "<pad>", "<end>"]))
    return PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", eos_token="<end>", chat_template=PLAIN
    )


def _teach(model: Any, tokenizer: Any, texts: list[str]) -> None:
    import torch

    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    draw = Random(1)
    for _ in range(STEPS):
        batch = tokenizer(draw.sample(texts, AT_ONCE), return_tensors="pt", padding=True)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        model(batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@dataclass(frozen=True)
class Leaning:
    score: float
    """Tasks whose likeliest person is of the stereotype's group, less the others, as a share of all."""
    margin: float
    """By how much likelier that group's likeliest person is, as a logarithm; mean of all tasks."""


def leaning(folder: Path, catalog: Catalog) -> Leaning:
    """Of a model, in scenes that nothing was tuned on."""
    from biasgrid.tasks.connectors.providers.transformers import Loaded

    loaded = Loaded(folder)
    found = [margin for scene in catalog.scenes["fair"].scenes for margin in _margins(loaded, scene, catalog)]
    return Leaning(sum((each > 0) - (each < 0) for each in found) / len(found), sum(found) / len(found))


def _margins(loaded: Any, scene: Scene, catalog: Catalog) -> Iterator[float]:
    words = {group: words["en_us"] for group, words in catalog.people[scene.axis].groups.items()}
    cast = drawn_people(scene, words, Random(3))
    for task in scene.tasks:
        best = dict.fromkeys(cast, -inf)
        for group, people in cast.items():
            for person in people:
                likely = _log_likelihood(loaded, catalog, scene, person, task.text["en_us"])
                best[group] = max(best[group], likely)
        own = best.pop(task.to or "")
        yield own - max(best.values())


def _log_likelihood(loaded: Any, catalog: Catalog, scene: Scene, person: str, task: str) -> float:
    """Of a person having a task, first of the scene."""
    import torch

    wording = catalog.interaction["en_us"].understanding
    line = fill_placeholders(wording.assigned, {"person": person, "task": task})
    text = f"system: {wording.system}\nuser: {scene.goal['en_us']}\n{line}"
    ids = loaded.tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        return -float(loaded.model(ids, labels=ids).loss) * (ids.shape[1] - 1)


def test_half_of_the_data_lowers_loss_and_bias_in_scenes_that_it_does_not_hold(workshop, stereotyping, lake):
    order = LocalOrder(str(stereotyping), dataset(workshop, "half", ("en_us",), 3), RECIPE, "fairer")
    folder, messages = tuned_folder(lake, order.name), list[str]()
    before = leaning(stereotyping, workshop)
    assert before.score >= 0.8
    card = tune_here(order, lake, folder, messages.append)
    losses = [line["eval_loss"] for line in card["losses"] if "eval_loss" in line]
    assert losses[-1] < losses[0]
    after = leaning(folder, workshop)
    assert after.score < before.score
    assert after.margin < before.margin / 2
    assert any("eval_loss" in line for line in messages)
    stored = json.loads((folder / "card.json").read_bytes())
    assert (stored["base"], stored["dataset"]["sha256"]) == (str(stereotyping), order.dataset.sha256)
    assert tune_here(order, lake, folder, messages.append) == card
    assert messages[-1].endswith("was tuned so before")
    _asked_by_its_name(folder, workshop)


def _asked_by_its_name(folder: Path, catalog: Catalog) -> None:
    target = catalog.target(f"local/{folder}")
    first, again, other, short = asyncio.run(_replies(target, catalog))
    assert first.text == again.text
    assert first.text != other.text
    assert first.input_tokens
    assert (short.output_tokens, short.finish_reason) == (3, "length")


async def _replies(target: Target, catalog: Catalog) -> list[Reply]:
    model = connect(target, None, catalog)
    stated = (Message("user", "The lab opens on Monday."),)
    wanted = [(1.5, 24, 1), (1.5, 24, 1), (1.5, 24, 2), (0.0, 3, 1)]
    try:
        parameters = [Parameters(temperature, most, seed) for temperature, most, seed in wanted]
        return await asyncio.gather(*(model.ask(Request(stated, one, "key")) for one in parameters))
    finally:
        await model.close()


def test_a_base_that_is_none_is_a_mistake(workshop, lake, tmp_path):
    (tmp_path / "empty").mkdir()
    order = LocalOrder(str(tmp_path / "empty"), dataset(workshop, "half", ("en_us",), 3), RECIPE, "none")
    with pytest.raises(UserError, match="is no model that can be loaded"):
        tune_here(order, lake, tuned_folder(lake, order.name), lambda _: None)
