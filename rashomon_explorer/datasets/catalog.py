"""The catalogue: one TOML entry a data set, holding everything that is public about it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from rashomon_explorer.assets import asset_path
from rashomon_explorer.datasets.declaration import Bounds, Declaration
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.words import quoted


@dataclass(frozen=True)
class CatalogEntry:
    """One data set as ``datasets/catalog.toml`` describes it."""

    name: str  # the entry's key
    loader: str  # kind of loader, a key of :data:`rashomon_explorer.datasets.LOADERS`
    task: str
    target: str  # column to predict
    # rows, features: size of the table after encoding
    rows: int
    features: int
    description: str  # one line
    # source, licence: where it comes from and on what terms
    source: str
    licence: str
    details: str = ""  # longer text for ``DESCR``
    sensitive: tuple[str, ...] = ()  # columns kept away from the models
    positive: Any = None  # class coded 1 unless the caller chooses another
    # every label of a target of classes, in the order of their codes
    classes: tuple[Any, ...] | None = None
    # declared range of every numeric feature
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    # one range for all features, in place of ``bounds``
    bounds_of_every_feature: Bounds | None = None
    # declared levels of every categorical column
    categories: Mapping[str, list[Any]] = field(default_factory=dict)
    target_bounds: Bounds | None = None  # declared range of a regression target
    options: Mapping[str, Any] = field(default_factory=dict)  # settings of the loader

    def declaration(self, columns: list[str], positive: Any = None) -> Declaration:
        """Public facts for a table with these columns."""
        bounds = self.bounds
        if self.bounds_of_every_feature is not None:
            features = [c for c in columns if c != self.target and c not in self.sensitive]
            bounds = dict.fromkeys(features, self.bounds_of_every_feature)
        return Declaration(
            target=self.target,
            sensitive=self.sensitive,
            bounds=bounds,
            categories=self.categories,
            task=self.task,
            positive=self.positive if positive is None else positive,
            target_bounds=self.target_bounds,
            classes=self.classes,
        )


def read_catalog(path: Path | None = None) -> Mapping[str, CatalogEntry]:
    """Entries of the catalogue by name, in the order of the file.

    >>> read_catalog()["diabetes"].target_bounds
    (0.0, 350.0)
    """
    return _read(asset_path("datasets/catalog.toml") if path is None else path)


@lru_cache(maxsize=8)
def _read(path: Path) -> Mapping[str, CatalogEntry]:
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: _entry(name, table) for name, table in tables.items()}


def _entry(name: str, table: Mapping[str, Any]) -> CatalogEntry:
    known = {f.name for f in fields(CatalogEntry)} - {"name"}
    if unknown := sorted(set(table) - known):
        raise DataError(f"catalogue entry {name!r} has unknown keys {quoted(unknown)}")
    prepared = {
        **table,
        "sensitive": tuple(table.get("sensitive", ())),
        "classes": tuple(table["classes"]) if "classes" in table else None,
        "bounds": {column: _pair(pair) for column, pair in table.get("bounds", {}).items()},
        "bounds_of_every_feature": _pair(table.get("bounds_of_every_feature")),
        "target_bounds": _pair(table.get("target_bounds")),
    }
    try:
        return CatalogEntry(name=name, **prepared)
    except TypeError as error:
        raise DataError(f"catalogue entry {name!r} is incomplete: {error}") from error


def _pair(pair: list[float] | None) -> Any:
    return None if pair is None else tuple(float(end) for end in pair)
