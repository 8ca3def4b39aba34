"""What a report asks of a kind of models, so that its sections need not tell kinds apart."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from rashomon_explorer.report.blocks import Block
from rashomon_explorer.report.material import Curator, Public, Release

Rows = list[tuple[str, str, str]]
"""Names with values, and a remark on each."""


class Kind(Protocol):
    """A kind of models, told from public numbers alone."""

    terms: ClassVar[tuple[str, ...]]
    """Terms of the glossary that a release needs."""

    caveats: ClassVar[Mapping[str, str]]
    """What a reader may get wrong of such models; of common ones by the same name instead."""

    no_certificates: ClassVar[str]
    """Why there is no list of theorems on such draws; empty where there is one."""

    no_other_ways: ClassVar[str]
    """Why there is no list of other mechanisms; empty where there is one."""

    arithmetic: ClassVar[str]
    """What the guarantee says of rounding."""

    def holds(self, models: Any) -> bool:
        """Whether a set, the curator's or a release, is of this kind."""
        ...

    def columns(self, given: Release) -> list[Block]:
        """List what is public of the data."""
        ...

    def rows(self, given: Curator) -> Rows:
        """List what the curator knows of the rows that were drawn from."""
        ...

    def reference(self, given: Curator) -> Any:
        """Draw models that are uniform on the set, where that is cheap and needed; else None."""
        ...

    def settings(self, given: Public, models: Any) -> Rows:
        """Public settings of the draws."""
        ...

    def mechanism(self, models: Any) -> Rows:
        """How the draws were made, and what one costs."""
        ...

    def promises(self, given: Public, models: Any) -> list[Block]:
        """List what theorems promise of the draws."""
        ...

    def estimator(self, given: Public, models: Any, sampler: str) -> list[str]:
        """Python lines that make such draws again."""
        ...
