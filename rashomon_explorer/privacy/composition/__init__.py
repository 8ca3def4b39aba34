"""How guarantees add up: one law drawn many times, Rényi curves, and every sum side by side."""

from rashomon_explorer.privacy.composition.rdp import rdp
from rashomon_explorer.privacy.composition.repeated import (
    affordable_repeated_eta,
    repeated_bounded_range,
)
from rashomon_explorer.privacy.composition.report import (
    Sum,
    composition_report,
    least_epsilon,
)
from rashomon_explorer.privacy.composition.sums import compose

__all__ = [
    "Sum",
    "affordable_repeated_eta",
    "compose",
    "composition_report",
    "least_epsilon",
    "rdp",
    "repeated_bounded_range",
]
