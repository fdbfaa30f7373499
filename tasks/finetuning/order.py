"""What is ordered of a provider: a model, tuned on a dataset, in a certain way."""

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
"""As published for models of OpenAI's: more of them fit the examples, not the assignments that are wanted."""


@dataclass(frozen=True)
class Order:
    target: Target
    dataset: Dataset
    hyperparameters: Hyperparameters
    suffix: str
    """What the tuned model's name says of it."""

    @cached_property
    def id(self) -> str:
        """Under which its jobs lie in the lake: the same for the same order, so that it is not paid twice."""
        where = (self.target.model, self.target.base_url)
        how = (self.hyperparameters.chosen, self.suffix, self.seed, self.dataset.sha256)
        return f"finetune-{content_hash(where, how)}"

    @property
    def seed(self) -> int:
        return self.dataset.seed

    @cached_property
    def tokens(self) -> int:
        """That it is trained on, over all epochs."""
        return trained_tokens(self.dataset.train, self.hyperparameters.n_epochs)

    @property
    def cost_usd(self) -> float | None:
        """What that comes to; None where no price is known."""
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
