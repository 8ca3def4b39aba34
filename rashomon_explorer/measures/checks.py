"""Shapes that every measure asks for."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def as_models_by_rows(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Numbers of shape (n_models, n_rows), finite and not empty.

    Raises
    ------
    ValueError
        If the shape or a value is wrong; the message names ``name``.

    Examples
    --------
    >>> as_models_by_rows([[0, 1]], "labels").shape
    (1, 2)
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be numbers of shape (n_models, n_rows): {error}. For class labels use "
            "rashomon_set_.labels(X), which are numbers"
        ) from error
    if array.ndim == 3:
        raise ValueError(
            f"{name} must have shape (n_models, n_rows), got {array.shape}: for several classes "
            f"choose one, {name}[:, :, k]"
        )
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(
            f"{name} must have shape (n_models, n_rows) with at least one of each, got "
            f"{array.shape}"
        )
    if not np.isfinite(array).all():
        model, row = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} holds NaN or infinity for model {model}, row {row}")
    return array


def as_baseline(labels: NDArray[np.float64], baseline: int | ArrayLike) -> NDArray[np.float64]:
    """Labels (n_rows,) of the reference model, given by its place or by its labels.

    Examples
    --------
    >>> as_baseline(np.array([[0.0, 1.0], [1.0, 1.0]]), 1).tolist()
    [1.0, 1.0]
    """
    if isinstance(baseline, int | np.integer):
        if not -len(labels) <= baseline < len(labels):
            raise ValueError(f"baseline must be a model below {len(labels)}, got {baseline}")
        return np.asarray(labels[baseline])
    try:
        reference = np.asarray(baseline, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"baseline must be a model's place or its labels: {error}") from error
    if reference.shape != labels.shape[1:]:
        raise ValueError(
            f"baseline must hold one label for each of {labels.shape[1]} rows, got shape "
            f"{reference.shape}"
        )
    if not np.isfinite(reference).all():
        raise ValueError("baseline holds NaN or infinity")
    return reference
