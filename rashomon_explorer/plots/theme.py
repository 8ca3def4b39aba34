"""Common style of all figures: colours, page templates, and privacy bands."""

from functools import cache
from textwrap import TextWrapper
from typing import Any, Literal

import plotly.graph_objects as go

BLUE = "#0072B2"
SKY = "#56B4E9"
VERMILLION = "#D55E00"
ORANGE = "#E69F00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
GREY = "#8A8F98"
BEST_MODEL = VERMILLION
CATEGORIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION)
"""Okabe–Ito colours for categories; vermillion is last because it marks the best model."""

LOSS_SCALE = ((0.0, BLUE), (0.5, "#7A9B9A"), (1.0, "#DCC65A"))
"""Colour scale of losses, for colour-blind readers too, on a light and on a dark ground."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

_WRAPPER = TextWrapper(40, break_long_words=False, break_on_hyphens=False)
"""Breaks the message of an empty figure into lines that a phone shows."""

View = Literal["curator", "release", "none"]

_BANDS: dict[str, tuple[str, str]] = {
    "curator": ("rgba(230,159,0,0.24)", ORANGE),
    "release": ("rgba(0,158,115,0.20)", GREEN),
    "none": ("rgba(213,94,0,0.22)", VERMILLION),
}

_PAGES = {
    "light": {"text": "#1f2430", "soft": "#565d6b", "grid": "#e7e9ee", "line": "#c3c8d1"},
    "dark": {"text": "#e8eaef", "soft": "#a9b0bd", "grid": "#2f343d", "line": "#4b525e"},
}


@cache  # figures copy it
def _template(page: str) -> go.layout.Template:
    colour = _PAGES[page]
    axis = {
        "gridcolor": colour["grid"],
        "linecolor": colour["line"],
        "zerolinecolor": colour["line"],
        "tickfont": {"color": colour["soft"], "size": 11.5},
        "title": {"font": {"size": 12.5}, "standoff": 8},
        "ticks": "",
        "automargin": True,
        "zeroline": False,
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 12.5, "color": colour["text"]},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(CATEGORIES),
            "xaxis": axis,
            "yaxis": axis,
            "title": {
                "x": 0,
                "xref": "container",
                "xanchor": "left",
                "y": 1,
                "yref": "container",
                "yanchor": "top",
                "pad": {"l": 6, "t": 20},
                "font": {"size": 15},
            },
            "legend": {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "font_size": 11.5},
            "hoverlabel": {"font": {"family": FONT, "size": 12}, "align": "left"},
            "hovermode": "closest",
            "modebar": {
                "bgcolor": "rgba(0,0,0,0)",
                "color": GREY,
                "activecolor": colour["text"],
                "orientation": "v",
            },
            "annotationdefaults": {"font": {"color": colour["text"]}},
        }
    )


def templates() -> dict[str, Any]:
    """Return the figure templates of a light and a dark page."""
    return {page: _template(page).to_plotly_json() for page in _PAGES}


def new_figure(title: str, subtitle: str = "", *, height: int = 360) -> go.Figure:
    """Return an empty figure in the common style."""
    # Plotly's own subtitle is one line too low, and the margin ignores it.
    below = f'<br><span style="font-size:11.5px">{subtitle}</span>' if subtitle else ""
    figure = go.Figure(
        layout={
            "title": {"text": f"{title}{below}"},
            "height": height,
            "margin": {"l": 62, "r": 18, "t": 84, "b": 52},
            "uirevision": "keep",
            "legend": {"itemsizing": "constant", "traceorder": "normal"},
        }
    )
    # As Plotly sets its default template: validation takes two thirds of the time of a figure.
    figure.layout._validate = False
    try:
        figure.layout.template = _template("light")
    finally:
        figure.layout._validate = True
    return figure


def add_band(figure: go.Figure, view: View, text: str) -> go.Figure:
    """Add the band that states who may see a figure."""
    fill, edge = _BANDS[view]
    figure.update_layout(meta={"view": view})
    figure.add_shape(
        name="band",
        type="rect",
        xref="paper",
        x0=0,
        x1=1,
        yref="paper",
        ysizemode="pixel",
        yanchor=1,
        y0=6,
        y1=24 + 15 * text.count("<br>"),
        fillcolor=fill,
        line={"color": edge, "width": 1},
        label={"text": text, "textposition": "middle left", "padding": 6, "font": {"size": 11.5}},
    )
    return figure


def curator_band(figure: go.Figure, *, guaranteed: bool = True) -> go.Figure:
    """Mark a figure that was computed from private rows."""
    if not guaranteed:
        return add_band(figure, "none", "no privacy guarantee · curator view: not private")
    return add_band(figure, "curator", "curator view: not private")


def empty_figure(title: str, text: str, *, height: int = 360) -> go.Figure:
    """Return a figure without data, with a text that states the next step."""
    figure = new_figure(title, "\u00a0", height=height)  # keeps the position of the title
    figure.update_layout(xaxis={"visible": False}, yaxis={"visible": False}, dragmode=False)
    figure.add_annotation(
        name="empty",
        text="<br>".join(
            part for line in text.split("<br>") for part in _WRAPPER.wrap(line) or [""]
        ),
        showarrow=False,
        xref="paper",
        yref="paper",
        x=0.5,
        y=0.5,
        font={"size": 14},
        opacity=0.8,
    )
    return figure
