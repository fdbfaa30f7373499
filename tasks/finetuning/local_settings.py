"""Settings of local tuning, importable without the tuning packages."""

from __future__ import annotations

from dataclasses import dataclass

from biasgrid.catalogs.schema.scenes import Variant

LOCAL_EPOCHS: dict[Variant, int] = {"full": 3, "half": 2}
"""As published for an open model of seven billion parameters."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """LoRA settings: only low-rank matrices added to the frozen weights are trained."""

    epochs: int
    learning_rate: float = 2e-4
    batch_size: int = 4
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    max_length: int = 1024
    """Tokens of an example; longer ones are truncated."""
