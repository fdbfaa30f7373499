"""Options of fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass

from biasgrid.catalogs.choices import Variant
from biasgrid.flows.runs.options import Options, RunOptions, option, replace_option

WORDS = "model variant languages epochs learning_rate batch_size suffix seed local data yes"
PARAMETERS = "model variant languages epochs learning_rate batch_size suffix seed local data"


@dataclass(frozen=True, kw_only=True)
class TuningOptions(Options):
    """What a person asks for; None is ours to choose, or the provider's."""

    model: str = option(
        "",
        "",
        "`provider/model`; with `--local` a directory of a model, or its name at the hub.",
        "`provider/model` that is tuned there; with `local` a directory of a model, or its name at the hub",
        show_default=False,
    )
    variant: Variant = option(
        "full",
        "--variant",
        "`full`: assignments with and without implicit bias; `half`: those without.",
        "`full`: assignments with and without implicit bias; `half`: those without alone",
    )
    languages: list[str] | None = option(
        None,
        "--language",
        "Of the assignments; may be repeated.",
        "of the assignments; None: `en_us`",
        show_default="en_us",
    )
    epochs: int | None = option(
        None,
        "--epochs",
        "How often each example is seen; else by variant.",
        "how often each example is seen; None: as published, by variant",
        min=1,
        max=50,
    )
    learning_rate: float | None = option(
        None,
        "--learning-rate",
        "A multiplier of the provider's; with `--local` the rate.",
        "at a provider a multiplier of its own; with `local` the rate; None: a default",
        min=0,
    )
    batch_size: int | None = option(
        None,
        "--batch-size",
        "Examples learnt from at once.",
        "examples that are learnt from at once; None: a default",
        min=1,
        max=256,
    )
    suffix: str | None = option(
        None,
        "--suffix",
        "A part of the new model's name that describes it.",
        "a part of the tuned model's name that describes it; None: `biasgrid-` and the variant",
        show_default=False,
    )
    seed: int = option(
        0,
        "--seed",
        "Draws names, and the scenes that are kept.",
        "draws names, scenes that are kept, and the order of examples",
        min=0,
        max=2**31 - 1,
    )
    local: bool = option(
        False,
        "--local",
        "Tune on this machine, with LoRA: needs `make env-finetune`.",
        "tune it on this machine, with LoRA",
    )
    data: str | None = replace_option(
        RunOptions, "data", doc="directory or `s3://bucket/prefix` of the lake; None: `BIASGRID_DATA`, or `data`"
    )
    yes: bool = replace_option(RunOptions, "yes")

    @property
    def spoken(self) -> tuple[str, ...]:
        """The languages, each once."""
        return tuple(dict.fromkeys(self.languages or ("en_us",)))
