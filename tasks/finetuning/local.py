"""Tunes a model on this machine with LoRA and stores the adapter with a card of its settings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.tasks.connectors.providers import transformers as connector
from biasgrid.tasks.finetuning.dataset import CARD, Dataset, write_card, write_dataset
from biasgrid.tasks.finetuning.order import Recipe
from biasgrid.warehouse.hashing import content_hash
from biasgrid.warehouse.storage.lake import Lake

Report = Callable[[str], None]
PLAIN = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
"""Chat template for models without one."""


@dataclass(frozen=True)
class LocalOrder:
    base: str
    """Directory of a model, or its name at the hub."""
    dataset: Dataset
    recipe: Recipe
    suffix: str

    @cached_property
    def name(self) -> str:
        """Name of the tuned model's folder, the same for the same order."""
        return f"{self.suffix}-{content_hash(self.base, asdict(self.recipe), self.dataset.sha256)[:12]}"

    @property
    def card(self) -> dict[str, Any]:
        return {"base": self.base, "dataset": self.dataset.card, "recipe": asdict(self.recipe)}


def missing_packages() -> list[Problem]:
    return connector.missing_packages(connector.TUNING)


def tune_here(order: LocalOrder, lake: Lake, folder: Path, report: Report) -> dict[str, Any]:
    """Trains an adapter into `folder` unless it exists, and returns its card.

    Raises UserError if packages are missing or the base cannot be loaded."""
    path = folder / CARD
    if path.is_file():
        report(f"{folder} was tuned so before")
        return dict(orjson.loads(path.read_bytes()))
    if missing := missing_packages():
        raise UserError(missing)
    write_dataset(lake, folder, order.dataset)
    losses = _train(order, folder, report)
    versions = {name: version(name) for name in connector.TUNING}
    card = {"model": f"local/{folder}", **order.card, "losses": losses, "versions": versions}
    write_card(lake, folder, card)
    return card


def _train(order: LocalOrder, folder: Path, report: Report) -> list[dict[str, float]]:
    """Losses by epoch, over the whole chat: the assignments are learnt too, not only the verdict."""
    from transformers import set_seed

    set_seed(order.dataset.seed)
    with tempfile.TemporaryDirectory() as scratch:
        trainer = _trainer(order, scratch)
        trainer.train()
        trainer.save_model(str(folder))
        trainer.processing_class.save_pretrained(str(folder))
    names = ("epoch", "loss", "eval_loss")
    found = [{name: line[name] for name in names if name in line} for line in trainer.state.log_history]
    losses = [line for line in found if len(line) > 1]
    for line in losses:
        report(", ".join(f"{name} {value:.4g}" for name, value in line.items()))
    return losses


def _trainer(order: LocalOrder, scratch: str) -> Any:
    from peft import LoraConfig
    from trl import SFTTrainer

    recipe = order.recipe
    model, tokenizer = _base(order.base)
    return SFTTrainer(
        model=model,
        args=_arguments(recipe, order.dataset.seed, scratch),
        train_dataset=_chats(order.dataset.train),
        eval_dataset=_chats(order.dataset.validation),
        processing_class=tokenizer,
        peft_config=LoraConfig(
            r=recipe.rank,
            lora_alpha=recipe.alpha,
            lora_dropout=recipe.dropout,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        ),
    )


def _arguments(recipe: Recipe, seed: int, scratch: str) -> Any:
    import torch
    from trl import SFTConfig

    on_gpu = torch.cuda.is_available()
    return SFTConfig(
        output_dir=scratch,
        num_train_epochs=recipe.epochs,
        learning_rate=recipe.learning_rate,
        per_device_train_batch_size=recipe.batch_size,
        per_device_eval_batch_size=recipe.batch_size,
        max_length=recipe.max_length,
        seed=seed,
        data_seed=seed,
        eval_strategy="epoch",
        logging_strategy="epoch",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        bf16=on_gpu and torch.cuda.is_bf16_supported(),
        use_cpu=not on_gpu,
        dataloader_pin_memory=on_gpu,
        gradient_checkpointing=False,
    )


def _base(name: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError) as absent:
        remedy = "name a directory that holds a model, or one of the hub that this machine can reach"
        raise UserError(Problem(f"`{name}` is no model that can be loaded", "MODEL", remedy)) from absent
    if tokenizer.chat_template is None:
        tokenizer.chat_template = PLAIN
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def _chats(lines: bytes) -> Any:
    from datasets import Dataset as Rows

    return Rows.from_list([orjson.loads(line) for line in lines.splitlines()])
