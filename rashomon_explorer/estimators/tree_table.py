"""A table for trees, of which only shape and names are known until its price is charged."""

from functools import cached_property
from typing import Any

from rashomon_explorer.carries_leaks import with_leak
from rashomon_explorer.estimators.declared_table import DeclaredTable
from rashomon_explorer.schema.units import UnitEncoder


class TreeTable(DeclaredTable):
    """Declared columns in their own units: what trees compare with thresholds."""

    @cached_property
    def _encoded(self) -> Any:
        return with_leak(UnitEncoder(self.schema).transform(self._X), self._X)

    def public(self) -> dict[str, Any]:
        """Fitted attributes that say nothing of a row, the encoder for other rows among them."""
        return {**super().public(), "encoder_": UnitEncoder(self.schema)}
