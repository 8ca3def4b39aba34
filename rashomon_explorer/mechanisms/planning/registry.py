"""Registry of mechanisms by name: those of the package, and those that extensions register."""

from importlib.metadata import entry_points
from typing import TypeVar

from rashomon_explorer._utils.imports import LazyRegistry, load_extensions
from rashomon_explorer.mechanisms.base import Mechanism, Traits

ENTRY_POINTS = "rashomon_explorer.mechanisms"
"""Entry points of installed packages: a mechanism's name, and its class."""

# Each is imported on first use, so that importing an estimator is quick.
_SEVERAL = {
    "exact": "rashomon_explorer.mechanisms.samplers.exponential:ExactSampler",
    "unthresholded": "rashomon_explorer.mechanisms.samplers.exponential:UnthresholdedSampler",
    "langevin_average": "rashomon_explorer.mechanisms.langevin.sampler:LangevinAverageSampler",
    "langevin_clipped": "rashomon_explorer.mechanisms.langevin.sampler:LangevinClipped",
    "objective_perturbation": (
        "rashomon_explorer.mechanisms.objective_perturbation.sampler:ObjectivePerturbationSampler"
    ),
    "langevin": "rashomon_explorer.mechanisms.langevin.sampler:PlannedPath",
    "hit_and_run": "rashomon_explorer.mechanisms.samplers.hit_and_run:HitAndRunSampler",
    "ellipsoid": "rashomon_explorer.mechanisms.ellipsoid.sampler:EllipsoidSampler",
    "ellipsoid_exact": "rashomon_explorer.mechanisms.ellipsoid.sampler:EllipsoidExactSampler",
}

_ONE_MODEL = {
    "moments": "rashomon_explorer.mechanisms.moments:Moments",
    "noisy_descent": "rashomon_explorer.mechanisms.one_model:NoisyDescent",
    "noisy_sgd": "rashomon_explorer.mechanisms.one_model:NoisySGD",
    "localised_gaussian": "rashomon_explorer.mechanisms.one_model:LocalisedGaussian",
    "output_perturbation": "rashomon_explorer.mechanisms.one_model:OutputPerturbation",
}

OF_SEVERAL_MODELS = tuple(_SEVERAL)
"""Names of the built-in mechanisms that draw any number of models."""

BUILT_IN = (*_SEVERAL, *_ONE_MODEL)
"""Names of the built-in mechanisms."""

_NO_MECHANISM = {"", "auto"}
_unknown: set[str] = set()


def _extend(name: str) -> None:
    """Import the package's own extensions, and the installed mechanism of this name."""
    if name in _NO_MECHANISM or name in _unknown:
        return
    load_extensions("mechanisms")
    if not any(name == registered for registered in MECHANISMS):
        for entry in entry_points(group=ENTRY_POINTS, name=name):
            register(entry.load())
            return
        _unknown.add(name)


MECHANISMS: LazyRegistry[type[Mechanism]] = LazyRegistry({**_SEVERAL, **_ONE_MODEL}, _extend)
"""Mechanisms by name; a name that it lacks is looked for in extensions, once."""

M = TypeVar("M", bound=Mechanism)


def register(mechanism: type[M]) -> type[M]:
    """Enter a mechanism under its name; also a class decorator.

    ``"auto"`` compares it if ``traits.compared``.

    Examples
    --------
    >>> from rashomon_explorer.mechanisms.moments import Moments
    >>> register(Moments) is MECHANISMS["moments"]
    True
    """
    MECHANISMS[mechanism.name] = mechanism
    return mechanism


def listed_mechanisms() -> list[type[Mechanism]]:
    """Mechanisms that a table of options lists: built in, or registered to be compared."""
    return [
        mechanism
        for name, mechanism in MECHANISMS.items()
        if name in BUILT_IN or mechanism.traits.compared
    ]


def mechanism_traits(name: str) -> Traits:
    """Properties of a mechanism and its draws, by name; none for an unknown name."""
    return MECHANISMS[name].traits if name in MECHANISMS else Traits()
