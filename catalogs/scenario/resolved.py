"""What a run of any kind goes by, every name in it resolved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.entries import ScenarioSettings
from biasgrid.catalogs.schema.models import Target


@dataclass(frozen=True, kw_only=True)
class Resolved(ABC):
    """A file that can run, as resolved."""

    kind: ClassVar[str]
    """Of run that comes of it: benchmark, probe, redteam, interaction."""
    name: str
    given: str
    """The file as the user wrote it."""
    catalog: Catalog
    targets: Mapping[str, Target]
    """The models under test, by full name."""
    judge: Target | None
    notices: tuple[str, ...] = ()

    @property
    @abstractmethod
    def settings(self) -> ScenarioSettings:
        """How the models are asked, and what that may cost."""

    @property
    @abstractmethod
    def concerns(self) -> set[str]: ...

    @property
    @abstractmethod
    def languages(self) -> set[str]: ...

    @property
    def asked(self) -> list[Target]:
        """Every model that is asked, those under test and those that help."""
        return [*self.targets.values(), *([self.judge] if self.judge else [])]

    @abstractmethod
    def as_json(self) -> str:
        """As JSON, in the file's shape: reading it again gives the same."""
