"""Registry of mechanisms by name: those of the core, and those that an extension registers."""

from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points

from rashomon_explorer._utils.imports import load_extensions
from rashomon_explorer.mechanisms import one_model
from rashomon_explorer.mechanisms.base import Mechanism, Traits
from rashomon_explorer.mechanisms.ellipsoid import PrivateEllipsoid
from rashomon_explorer.mechanisms.exact import Exact, Unthresholded
from rashomon_explorer.mechanisms.hit_and_run import HitAndRun
from rashomon_explorer.mechanisms.langevin.mechanism import Langevin, LangevinClipped
from rashomon_explorer.mechanisms.moments import Moments
from rashomon_explorer.mechanisms.objective_perturbation.sampler import ObjectivePerturbation
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.mechanisms.sparse_trees import SparseTrees

GROUP = "rashomon_explorer.mechanisms"
"""Entry points of installed packages: a mechanism's name, and an instance or its class."""


class Registry(Mapping[str, Mechanism]):
    """Mechanisms by name; a name that it lacks is looked for in extensions, once."""

    def __init__(self, *mechanisms: Mechanism) -> None:
        self._mechanisms = {mechanism.name: mechanism for mechanism in mechanisms}
        self._unknown = {"", AUTO}

    def __getitem__(self, name: str) -> Mechanism:
        """Mechanism of a name; raises KeyError if no extension registers it."""
        if name not in self:
            raise KeyError(name)
        return self._mechanisms[name]

    def __contains__(self, name: object) -> bool:
        """Whether the name is that of a mechanism, also of an extension."""
        if name not in self._mechanisms and name not in self._unknown:
            load_extensions("mechanisms")
            for entry in entry_points(group=GROUP, name=str(name)):
                extension = entry.load()
                self.register(extension() if isinstance(extension, type) else extension)
        if name not in self._mechanisms:
            self._unknown.add(str(name))
        return name in self._mechanisms

    def __iter__(self) -> Iterator[str]:
        """Names of the mechanisms that are registered."""
        return iter(self._mechanisms)

    def __len__(self) -> int:
        """Count of the mechanisms that are registered."""
        return len(self._mechanisms)

    def register(self, *mechanisms: Mechanism) -> None:
        """Add mechanisms, each under a name of its own."""
        for mechanism in mechanisms:
            other = self._mechanisms.setdefault(mechanism.name, mechanism)
            if type(other) is not type(mechanism):
                raise ValueError(
                    f"mechanism={mechanism.name!r} is registered already, as "
                    f"{type(other).__name__}: give it another name"
                )

    def unregister(self, name: str) -> None:
        """Take a mechanism out."""
        del self._mechanisms[name]


MECHANISMS = Registry(
    Exact(),
    Unthresholded(),
    Langevin(),
    LangevinClipped(),
    ObjectivePerturbation(),
    HitAndRun(),
    PrivateEllipsoid(),
    Moments(),
    one_model.NoisyDescent(),
    one_model.NoisySGD(),
    one_model.LocalisedGaussian(),
    one_model.OutputPerturbation(),
)
"""Mechanisms of linear models, by name."""

CORE_MECHANISMS = tuple(MECHANISMS)
"""Names of the mechanisms that belong to the core."""

SET_MECHANISMS = tuple(name for name, kind in MECHANISMS.items() if not kind.traits.one_model)
"""Names of the core's mechanisms that draw any number of models."""

TREES = SparseTrees()
"""Mechanism of sparse trees."""


def register(*mechanisms: Mechanism) -> None:
    """Add mechanisms to the registry, so that estimators take them by name.

    Parameters
    ----------
    *mechanisms : Mechanism
        Each with a name of its own.

    Raises
    ------
    ValueError
        If another mechanism has the name.

    Examples
    --------
    >>> from rashomon_explorer.mechanisms import MECHANISMS
    >>> register(MECHANISMS["exact"])  # the same one again changes nothing
    >>> MECHANISMS["exact"].name
    'exact'
    """
    MECHANISMS.register(*mechanisms)


def get_mechanism(name: str) -> Mechanism:
    """Mechanism of a name, of the core or of an extension."""
    if name == TREES.name:
        return TREES
    if name not in MECHANISMS:
        raise ValueError(f"mechanism={name!r} is unknown: expected one of {', '.join(MECHANISMS)}")
    return MECHANISMS[name]


def mechanism_traits(name: str) -> Traits:
    """Properties of a mechanism and its draws, by name; none for an unknown name."""
    return MECHANISMS[name].traits if name in MECHANISMS else Traits()
