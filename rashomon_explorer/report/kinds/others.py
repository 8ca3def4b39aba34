"""Models that were made elsewhere: nothing is public of them but what their set says."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rashomon_explorer.report.blocks import Block
from rashomon_explorer.report.kinds.base import Rows
from rashomon_explorer.report.material import Curator, Public, Release


class Others:
    """Fitted estimators, stored predictions; see :class:`Kind`."""

    terms: ClassVar[tuple[str, ...]] = ("Rashomon set",)
    caveats: ClassVar[Mapping[str, str]] = {}
    no_certificates: ClassVar[str] = ""
    no_other_ways: ClassVar[str] = ""
    arithmetic: ClassVar[str] = "Proved for real numbers."

    def holds(self, models: Any) -> bool:
        """All that no kind before it holds."""
        return True

    def columns(self, given: Release) -> list[Block]:
        """Nothing: such models are in no release."""
        return []

    def rows(self, given: Curator) -> Rows:
        """Nothing."""
        return []

    def reference(self, given: Curator) -> Any:
        """None: the draws inside tell the set's width, or nothing does."""
        return None

    def settings(self, given: Public, models: Any) -> Rows:
        """Nothing: whoever made them knows."""
        return []

    def mechanism(self, models: Any) -> Rows:
        """Nothing."""
        return []

    def promises(self, given: Public, models: Any) -> list[Block]:
        """Nothing."""
        return []

    def estimator(self, given: Public, models: Any, sampler: str) -> list[str]:
        """Say where to look."""
        return ["# these models were made elsewhere: rashomon_set.from_… says how they came in"]
