"""A labelled slider with a number box beside it, linear or logarithmic."""

from pathlib import Path
from typing import Any

import anywidget
import traitlets


class Dial(anywidget.AnyWidget):
    """A number chosen by slider, keyboard or typing.

    Stock sliders carry no accessible name on their handle and round small values away; this one is
    a native ``<input type="range">`` with a name, a unit and the value in words.

    Parameters
    ----------
    **traits
        Any of the attributes.

    Attributes
    ----------
    value : float
        The number; between `low` and `high`, or zero if `zero`.
    low, high : float
        Ends of the scale.
    log : bool
        Whether the scale is logarithmic (40 steps a decade).
    zero : bool
        Whether the first position of a logarithmic scale means zero.
    step : float
        Step of a linear scale.
    integer : bool
        Whether only whole numbers are taken.
    label, unit, help : str
        Name, unit behind the name, and a line below.
    disabled : bool
        Whether the number is shown but cannot be changed.

    Examples
    --------
    >>> dial = Dial(value=4.0, low=0.01, high=100.0, log=True, label="Privacy price ε")
    >>> dial.value = 1000.0
    Traceback (most recent call last):
    ...
    traitlets.traitlets.TraitError: Privacy price ε must be between 0.01 and 100, got 1000
    """

    _esm = (Path(__file__).parent / "dial.js").read_text(encoding="utf-8")
    value = traitlets.Float(1.0).tag(sync=True)
    low = traitlets.Float(0.0).tag(sync=True)
    high = traitlets.Float(1.0).tag(sync=True)
    log = traitlets.Bool(False).tag(sync=True)
    zero = traitlets.Bool(False).tag(sync=True)
    step = traitlets.Float(0.01).tag(sync=True)
    integer = traitlets.Bool(False).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    unit = traitlets.Unicode("").tag(sync=True)
    help = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @traitlets.validate("value")
    def _within(self, proposal: dict[str, Any]) -> float:
        value = float(proposal["value"])
        if self.low <= value <= self.high or (self.zero and value == 0.0):
            return value
        raise traitlets.TraitError(
            f"{self.label or 'value'} must be between {self.low:g} and {self.high:g}, got {value:g}"
        )
