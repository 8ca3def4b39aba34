"""One slider a setting, and how it follows the state."""

from typing import Any

from rashomon_explorer.explorer.panels.open_dial import on_scale
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets import Dial

MOST_LEAVES = 12
LINEAR_ALONE = ("radius", "ridge")
TREES_ALONE = ("max_leaves", "max_depth", "leaf_penalty")


def dials() -> dict[str, Dial]:
    """Make one slider a setting.

    >>> sorted(set(dials()) - {*LINEAR_ALONE, *TREES_ALONE})
    ['delta', 'epsilon', 'n_draws', 'psi']
    """
    return {
        "max_leaves": Dial(
            label="Leaves",
            unit="at most",
            help="All trees with so many leaves are counted; public.",
            low=1,
            high=MOST_LEAVES,
            integer=True,
            value=4,
        ),
        "max_depth": Dial(
            label="Depth",
            unit="at most",
            help="Questions one after the other; to the right, as many as the leaves allow.",
            low=1,
            high=MOST_LEAVES - 1,
            integer=True,
            value=MOST_LEAVES - 1,
        ),
        "leaf_penalty": Dial(
            label="Price of a leaf",
            unit="added to the loss",
            help="In shares of the rows; costs no privacy.",
            low=1e-4,
            high=0.1,
            log=True,
            zero=True,
            value=0.005,
        ),
        "psi": Dial(
            label="Threshold ψ",
            unit="loss",
            help="A model is good if its loss is at most ψ above the best.",
            low=0.001,
            high=1.0,
            log=True,
            value=0.02,
        ),
        "epsilon": Dial(
            label="Privacy price ε",
            unit="in total",
            help="For all draws together; smaller is more private.",
            low=0.01,
            high=100.0,
            log=True,
            value=4.0,
        ),
        "n_draws": Dial(
            label="Draws",
            unit="models",
            help="More draws share the same price.",
            low=1,
            high=500,
            log=True,
            integer=True,
            value=20,
        ),
        "radius": Dial(
            label="Radius",
            unit="of the ball of models",
            help="Bound on the length of the coefficients; public.",
            low=0.25,
            high=32.0,
            log=True,
            value=4.0,
        ),
        "ridge": Dial(
            label="Ridge",
            unit="added to the loss",
            help="Pulls coefficients to zero; costs nothing.",
            low=1e-6,
            high=1.0,
            log=True,
            zero=True,
            value=0.0,
        ),
        "delta": Dial(
            label="Privacy δ",
            unit="in total",
            help="Chance that ε does not hold; 0 asks for pure privacy.",
            low=1e-12,
            high=1e-3,
            log=True,
            zero=True,
            value=1e-6,
        ),
    }


def follow(dial: Dial, state: ExplorerState, name: str) -> None:
    """Link a slider and a setting both ways.

    What is beyond the slider's end is shown at its end and stays what it is; a setting that may be
    None, no bound, is shown at the upper end.
    """
    open_ended = bool(state.traits()[name].allow_none)
    telling = False

    def tell(_change: object = None) -> None:
        nonlocal telling
        value = getattr(state, name)
        telling = True
        dial.value = dial.high if value is None else on_scale(dial, float(value))
        telling = False

    def hold(_change: object) -> None:
        if not telling:
            value: Any = int(dial.value) if dial.integer else dial.value
            setattr(state, name, None if open_ended and value == dial.high else value)

    state.observe(tell, name)
    dial.observe(hold, "value")
    tell()
