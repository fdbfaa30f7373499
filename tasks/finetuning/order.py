"""An order to a provider: the base model, the dataset and the hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from biasgrid.catalogs.schema.models import Target
from biasgrid.catalogs.schema.scenes import Variant
from biasgrid.tasks.connectors.batch.fine_tuning import Hyperparameters
from biasgrid.tasks.finetuning.dataset import Dataset
from biasgrid.tasks.finetuning.limits import trained_tokens
from biasgrid.warehouse.hashing import content_hash

EPOCHS: dict[Variant, int] = {"full": 4, "half": 3}
"""As published for OpenAI models; more epochs fit the examples, not the wanted assignments."""


@dataclass(frozen=True)
class Order:
    target: Target
    dataset: Dataset
    hyperparameters: Hyperparameters
    suffix: str
    """Suffix of the tuned model's name."""

    @cached_property
    def id(self) -> str:
        """Id of its jobs in the lake, the same for the same order, so that it is not paid twice."""
        where = (self.target.model, self.target.base_url)
        how = (self.hyperparameters.chosen, self.suffix, self.seed, self.dataset.sha256)
        return f"finetune-{content_hash(where, how)}"

    @property
    def seed(self) -> int:
        return self.dataset.seed

    @cached_property
    def tokens(self) -> int:
        """Training tokens over all epochs."""
        return trained_tokens(self.dataset.train, self.hyperparameters.n_epochs)

    @property
    def cost_usd(self) -> float | None:
        """Training cost; None if no price is known."""
        prices = self.target.prices
        return None if prices is None or prices.training is None else self.tokens * prices.training / 1e6

    @property
    def told(self) -> dict[str, Any]:
        return {
            "base": self.target.model,
            "dataset": self.dataset.told,
            "hyperparameters": self.hyperparameters.chosen,
            "suffix": self.suffix,
        }
