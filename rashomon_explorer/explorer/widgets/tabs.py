"""Links to the views of a page, each with an address of its own."""

from collections.abc import Sequence
from pathlib import Path

import anywidget
import traitlets


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
