"""Rashomon sets of differentiable models: networks, additive models, and models of your own."""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:
    from rashomon_explorer.networks.models import Additive, DifferentiableModel, Network
    from rashomon_explorer.networks.pytorch import TorchModel
    from rashomon_explorer.networks.sets import NetworkSet, ReleasedNetworks

__all__ = [
    "Additive",
    "DifferentiableModel",
    "Network",
    "NetworkSet",
    "ReleasedNetworks",
    "TorchModel",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
