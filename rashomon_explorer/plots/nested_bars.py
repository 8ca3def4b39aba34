"""Ranges inside ranges, one row a name."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go


def nested_bars(
    figure: go.Figure,
    shown: pd.DataFrame,
    bars: Sequence[tuple[str, str, str, float, str]],
    hover: Sequence[str],
) -> None:
    """Draw horizontal bars over one another, those named first below.

    ``bars`` are (low, high, colour, thickness, label), the two ends being columns of ``shown``,
    whose first row is the lowest.

    >>> figure = go.Figure()
    >>> table = pd.DataFrame({"low": [0.0, 1.0], "high": [2.0, 3.0]})
    >>> nested_bars(figure, table, [("low", "high", "navy", 0.5, "range")], ["first", "second"])
    >>> figure.data[0].x.tolist()
    [2.0, 2.0]
    """
    for low, high, colour, thickness, label in bars:
        figure.add_bar(
            orientation="h",
            y=np.arange(len(shown)),
            base=shown[low].to_numpy(np.float32),
            x=(shown[high] - shown[low]).to_numpy(np.float32),
            width=thickness,
            marker={"color": colour, "line": {"width": 0}},
            name=label,
            hovertext=list(hover),
            hovertemplate="%{hovertext}<extra></extra>",
        )
