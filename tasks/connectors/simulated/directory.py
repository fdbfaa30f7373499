"""Which respondent answers for a model's name, so that a scenario for real models runs without them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from biasgrid.catalogs.loading.catalog import Catalog
from biasgrid.catalogs.schema.respondents import Respondent
from biasgrid.tasks.connectors.simulated.panel import Panel

ONLY_MODEL = ("tgi", "dummy")
"""What clients of a server with one model send for a name."""


class Directory:
    """Names of models to respondents: a tuned model's own; then a respondent's id, alone or as the last part of a
    path; then `mapping`; then the default for every model that the catalog lists."""

    def __init__(self, panel: Panel, default: str, mapping: Mapping[str, str]) -> None:
        """Raises UserError where `default` or a value of `mapping` is no respondent."""
        self.default = panel.respondent(default)
        self._by_id = panel.catalog.respondents
        self._mapped = {name: panel.respondent(chosen) for name, chosen in mapping.items()}
        self._tuned: dict[str, Respondent] = {}
        self._listed = frozenset(listed_names(panel.catalog)) | frozenset(ONLY_MODEL)

    def find(self, model: str) -> Respondent | None:
        """None where nobody answers for the name."""
        if model in self._tuned:
            return self._tuned[model]
        found = self._by_id.get(model) or self._by_id.get(model.rpartition("/")[2])
        found = found or self._mapped.get(model)
        return found or (self.default if model in self._listed else None)

    def names(self) -> list[str]:
        return sorted({*self._by_id, *self._mapped, *self._tuned, *(self._listed - set(ONLY_MODEL))})

    def add(self, model: str, respondent: Respondent) -> None:
        """From now on the respondent answers for a tuned model's name."""
        self._tuned[model] = respondent


def listed_names(catalog: Catalog) -> Iterator[str]:
    """Every way in which a model of models.yaml may be called, by a user or by a provider's SDK."""
    for model, entry in catalog.models.models.items():
        yield from (model, model.partition("/")[2], *entry.aliases)
        yield from (name for name in (entry.name, entry.deployment) if name)
