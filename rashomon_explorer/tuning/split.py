"""Which rows are for validation: public, by their places alone."""

import numpy as np

from rashomon_explorer.array_types import Mask


def validation_rows(n: int, fraction: float) -> Mask:
    """Which of ``n`` rows (n,) are for validation: spread evenly over the table.

    Nothing is shuffled and nothing is read: a record is on one side only, whatever it holds, so
    that the price is that of the dearer side and not of both.

    Parameters
    ----------
    n : int
        At least 2.
    fraction : float
        Share of them, in (0, 1); at least one row stays on either side.

    Raises
    ------
    ValueError
        If there are fewer than two rows.

    Examples
    --------
    >>> validation_rows(6, 0.34).astype(int).tolist()
    [0, 0, 1, 0, 0, 1]
    """
    if n < 2:
        raise ValueError(
            f"n_samples={n}: tuning needs at least 2 rows, to fit some and validate on others"
        )
    many = min(max(round(fraction * n), 1), n - 1)
    ends = np.arange(n + 1) * many // n
    return np.asarray(np.diff(ends) == 1)
