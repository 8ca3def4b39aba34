"""Words below a figure's title."""

import plotly.graph_objects as go


def also_said(figure: go.Figure, words: str, finding: str = "") -> go.Figure:
    """Add words below a figure's title, or give it another one.

    >>> from rashomon_explorer.plots.theme import new_figure
    >>> also_said(new_figure("Losses", "20 draws"), "of 3").layout.title.text.split("<br>")[1]
    '<span style="font-size:11.5px">20 draws · of 3</span>'
    """
    head, _, below = (figure.layout.title.text or "").partition("<br>")
    if words:
        below = below.replace("</span>", f" · {words}</span>") if below else words
    figure.layout.title.text = f"{finding or head}<br>{below}" if below else finding or head
    return figure
