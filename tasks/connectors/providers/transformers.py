"""Local models in Hugging Face's format (`local/<directory>`), or adapters tuned on this machine."""

# Packages and weights are loaded at the first request; replies are generated one at a time, in a thread.

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from biasgrid.catalogs.errors import Problem, UserError
from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.models import Target
from biasgrid.tasks.connectors.api import Connector, Message, Reply, Request, RequestRejected, ServerFault
from biasgrid.tasks.connectors.providers.chat import as_dicts, as_prompt

ASKING = ("torch", "transformers")
TUNING = (*ASKING, "datasets", "peft", "trl")
ADAPTER = "adapter_config.json"
MOST_TOKENS = 512
"""Most tokens of a reply if the request sets no limit."""


def connect(target: Target, key: str | None, catalog: Catalog) -> Connector:
    """Connector of a local model. Raises UserError if the model is missing or its packages are not installed."""
    folder = Path(target.name).expanduser()
    if not (folder / "config.json").is_file() and not (folder / ADAPTER).is_file():
        remedy = "name a directory that holds `config.json` or an adapter, as `local/<directory>`"
        raise UserError(Problem(f"`{target.name}` holds no model", "--model or models", remedy))
    if missing := missing_packages(TUNING if (folder / ADAPTER).is_file() else ASKING):
        raise UserError(missing)
    return LocalModel(folder, target.model)


def missing_packages(needed: tuple[str, ...]) -> list[Problem]:
    """The packages to install before models run on this machine."""
    absent = [f"`{name}`" for name in needed if find_spec(name) is None]
    if not absent:
        return []
    what = f"models on this machine need {', '.join(absent)}, which are not installed"
    return [
        Problem(what, remedy="run `make env-finetune` and use `.venv-finetune`, or install the extra `finetune`")
    ]


class LocalModel:
    def __init__(self, folder: Path, model: str) -> None:
        self._folder, self._model = folder, model
        self._loaded: Loaded | None = None
        self._turn = asyncio.Lock()

    async def ask(self, request: Request) -> Reply:
        """The generated reply. Raises ServerFault if the model fails, RequestRejected for a short context."""
        async with self._turn:
            return await asyncio.to_thread(self._write, request)

    async def close(self) -> None:
        self._loaded = None

    def _write(self, request: Request) -> Reply:
        try:
            self._loaded = self._loaded or Loaded(self._folder)
            return self._loaded.reply(request)
        except (OSError, RuntimeError, ValueError) as failed:
            why = f"`{self._model}` could not be run ({type(failed).__name__})"
        raise ServerFault(why)


class Loaded:
    """Weights and tokenizer, on an accelerator if there is one."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoTokenizer

        self._torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = _weights(folder).to(device).eval()

    def reply(self, request: Request) -> Reply:
        encoded = self._encode(request.messages)
        asked = int(encoded["input_ids"].shape[1])
        longest = getattr(self.model.config, "max_position_embeddings", None)
        if longest is not None and asked >= longest:
            raise RequestRejected(f"the prompt has {asked} tokens, and the model reads {longest}")
        written = self._generate(encoded, request)[asked:]
        ended = len(written) > 0 and int(written[-1]) == self.tokenizer.eos_token_id
        text = self.tokenizer.decode(written, skip_special_tokens=True).strip()
        return Reply(text, "stop" if ended else "length", asked, len(written))

    def _encode(self, messages: tuple[Message, ...]) -> Any:
        if self.tokenizer.chat_template is None:
            encoded = self.tokenizer(as_prompt(messages), return_tensors="pt")
        else:
            encoded = self.tokenizer.apply_chat_template(
                as_dicts(messages), add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        return {name: encoded[name].to(self.model.device) for name in ("input_ids", "attention_mask")}

    def _generate(self, encoded: Any, request: Request) -> Any:
        parameters = request.parameters
        if parameters.seed is not None:
            self._torch.manual_seed(parameters.seed)
        sampled: dict[str, Any] = {}
        if parameters.temperature is not None:
            sampled = {"do_sample": parameters.temperature > 0}
            sampled |= {"temperature": parameters.temperature} if parameters.temperature > 0 else {}
        most = parameters.max_tokens or MOST_TOKENS
        with self._torch.inference_mode():
            return self.model.generate(
                **encoded, max_new_tokens=most, pad_token_id=self.tokenizer.eos_token_id, **sampled
            )[0]


def _weights(folder: Path) -> Any:
    if (folder / ADAPTER).is_file():
        from peft import AutoPeftModelForCausalLM

        return AutoPeftModelForCausalLM.from_pretrained(str(folder), trust_remote_code=False)
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(str(folder), trust_remote_code=False)
