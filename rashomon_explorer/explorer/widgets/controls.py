"""Controls."""

from collections.abc import Sequence
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


class Fold(anywidget.AnyWidget):
    """Opens and closes the box it stands in, by the box's attribute ``data-open``.

    What that hides, and on which widths, is the style sheet's (``phone.css``).

    Attributes
    ----------
    label : str
        What the button is called by a screen reader; begins with its words.
    words : str
        What stands on it beside its mark.
    of : str
        Selector of the box, the nearest one around the button.
    marks : list of str
        What stands on the button while the box is closed, and open.
    unfolded : bool
        Whether the box is open.
    escapes : bool
        Whether the Escape key closes it.

    Examples
    --------
    >>> Fold(label="Menu", of=".rx-topbar", marks=["☰", "✕"]).marks
    ['☰', '✕']
    """

    _esm = (Path(__file__).parent / "fold.js").read_text(encoding="utf-8")
    label = traitlets.Unicode("").tag(sync=True)
    words = traitlets.Unicode("").tag(sync=True)
    unfolded = traitlets.Bool(False).tag(sync=True)
    escapes = traitlets.Bool(True).tag(sync=True)
    of = traitlets.Unicode("").tag(sync=True)
    marks: traitlets.List[str] = traitlets.List(["▾", "▴"]).tag(sync=True)


class Tabs(anywidget.AnyWidget):
    """One view of several, chosen by link, by address (``#set``), or from Python.

    The views stand in boxes of the classes ``rx-view`` and ``rx-view-<name>``.

    Parameters
    ----------
    options : sequence of (str, str)
        Name and title of each view.
    label : str
        What the links lead to, for a screen reader.

    Attributes
    ----------
    value : str
        Name of the view on screen.

    Examples
    --------
    >>> tabs = Tabs([("plan", "Plan"), ("set", "Set")], label="Views")
    >>> tabs.value
    'plan'
    >>> tabs.value = "moon"
    Traceback (most recent call last):
    ...
    traitlets.traitlets.TraitError: there is no view 'moon', expected one of ['plan', 'set']
    """

    _esm = (Path(__file__).parent / "tabs.js").read_text(encoding="utf-8")
    options: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    value = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)

    def __init__(self, options: Sequence[tuple[str, str]], label: str) -> None:
        super().__init__(options=[list(pair) for pair in options], label=label)
        self.value = options[0][0]

    @traitlets.validate("value")
    def _known(self, proposal: dict[str, str]) -> str:
        names = [name for name, _ in self.options]
        if proposal["value"] in names:
            return proposal["value"]
        raise traitlets.TraitError(
            f"there is no view {proposal['value']!r}, expected one of {names}"
        )


class Step(anywidget.AnyWidget):
    """A step of the story in one line.

    Attributes
    ----------
    title : str
        Its name, on the button.
    summary : str
        The line, as HTML. Escape what users typed.
    opens : bool
        Whether the button opens what stands below; else its owner leads elsewhere.
    unfolded : bool
        Whether what stands below is open.
    pressed : int
        Counts the presses.

    Examples
    --------
    >>> Step(title="Model", summary="logistic").unfolded
    False
    """

    _esm = (Path(__file__).parent / "step.js").read_text(encoding="utf-8")
    title = traitlets.Unicode("").tag(sync=True)
    summary = traitlets.Unicode("").tag(sync=True)
    opens = traitlets.Bool(True).tag(sync=True)
    unfolded = traitlets.Bool(False).tag(sync=True)
    pressed = traitlets.Int(0).tag(sync=True)


class ThemeSwitch(anywidget.AnyWidget):
    """Turns the page; the browser remembers it. A notebook has its own theme and needs none.

    Examples
    --------
    >>> ThemeSwitch().comm is None
    False
    """

    _esm = (Path(__file__).parent / "theme_switch.js").read_text(encoding="utf-8")


class ChoiceTable(anywidget.AnyWidget):
    """Things to tick, under headings, with what each would be like and its share of a price.

    Attributes
    ----------
    rows : list of dict
        ``name``, ``group``, ``title``, ``definition``, ``noise``, ``share`` and ``why``, which
        says why a thing cannot be had and is empty where it can.
    ticked : dict of str to float
        Weights of what is ticked, by name.
    headings : list of (str, str)
        Of the three columns, each with its explanation.
    label : str
        What a screen reader calls the table.
    disabled : bool
        Whether nothing can be ticked.

    Examples
    --------
    >>> ChoiceTable(label="Aggregates").ticked
    {}
    """

    _esm = (Path(__file__).parent / "choice_table.js").read_text(encoding="utf-8")
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    ticked = traitlets.Dict().tag(sync=True)
    headings = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)
