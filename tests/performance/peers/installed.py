"""The other tools that are installed, or could be: each in a folder of its own, nothing in our environment."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from peers import inspect_ai, lm_eval, promptfoo
from peers.recipe import Job, Launch, Recipe

RECIPES = cast("tuple[Recipe, ...]", (inspect_ai, promptfoo, lm_eval))


@dataclass(frozen=True)
class Peer:
    recipe: Recipe
    home: Path

    @property
    def name(self) -> str:
        return self.recipe.NAME

    def launch(self, job: Job) -> Launch:
        launch = self.recipe.launch(self.home, job)
        return replace(launch, environment={**launch.environment, "PYTHONPATH": ""})  # nothing of ours


def installed_peers() -> list[Peer]:
    """Installs what is missing. What cannot be installed is left out, with a message."""
    return list(_install())


def _install() -> Iterator[Peer]:
    for recipe in RECIPES:
        peer = Peer(recipe, _cache() / f"{recipe.NAME}-{recipe.VERSION}")
        if peer.home.exists() or _install(peer):
            yield peer


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "biasgrid-peers"


def _install(peer: Peer) -> bool:
    print(f"installing {peer.name} {peer.recipe.VERSION} into {peer.home}", flush=True)
    try:
        peer.recipe.install(peer.home)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{peer.name} is left out: it cannot be installed here ({error})")
        shutil.rmtree(peer.home, ignore_errors=True)
        return False
    return True
