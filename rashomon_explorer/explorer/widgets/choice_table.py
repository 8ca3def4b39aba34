"""A table of ticks, each with a weight."""

from pathlib import Path

import anywidget
import traitlets


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
