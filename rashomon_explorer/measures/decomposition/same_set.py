"""Whether a reference describes the Rashomon set of the draws, and which setting differs if not."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rashomon_explorer.rashomon_set import RashomonSet

_SAME = 1e-9  # of a number: a minimum that other threads added up
_SETTABLE = ("psi", "radius", "ridge", "row_norm", "loss", "target_bounds", "classes")


def check_same_set(drawn: Any, reference: Any) -> None:
    """Refuse a reference of another Rashomon set than the draws'.

    Parameters
    ----------
    drawn, reference : RashomonSet or PredictorSet

    Raises
    ------
    ValueError
        Naming each setting that differs, both values, and how to fit the reference.
    """
    apart = {
        name: (own, other)
        for name, own, other in _settings(drawn, reference)
        if own is not None and other is not None and not _same(own, other)
    }
    if not apart:
        return
    told = "; ".join(
        f"its {name} {_is(name)} {_text(other)}, the draws' {_text(own)}"
        for name, (own, other) in apart.items()
    )
    raise ValueError(f"reference must describe the same Rashomon set: {told}. {_remedy(apart)}")


def _settings(drawn: Any, reference: Any) -> Iterator[tuple[str, Any, Any]]:
    """Name each setting of a set, with the draws' value and the reference's."""
    for name in ("task", "psi"):
        yield name, getattr(drawn, name), getattr(reference, name)
    if isinstance(drawn, RashomonSet) and isinstance(reference, RashomonSet):
        for name in ("radius", "ridge", "loss", "n", "p"):
            yield name, getattr(drawn.plan, name), getattr(reference.plan, name)
        for name in ("row_norm", "target_bounds"):
            yield name, getattr(drawn, name), getattr(reference, name)
        yield "classes", drawn.classes or None, reference.classes or None
        yield "columns", _named(drawn.feature_names), _named(reference.feature_names)
        yield "scale", _map(drawn.scale), _map(reference.scale)
    yield "least", drawn.least, reference.least


def _named(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the names of columns; None where they stand for missing ones."""
    columns = names[:-1]
    return None if columns == tuple(f"x{j}" for j in range(len(columns))) else columns


def _map(scale: Any) -> str:
    """Say by which released centres and spreads columns were mapped."""
    if scale is None:
        return "none"
    return f"released centres and spreads {np.stack([scale.centre, scale.spread]).tolist()}"


def _same(own: Any, other: Any) -> bool:
    if isinstance(own, float) and isinstance(other, float):
        return own == other or abs(own - other) <= _SAME * abs(own)
    return bool(own == other)


def _is(name: str) -> str:
    return "are" if name in ("target_bounds", "classes", "columns") else "is"


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _remedy(apart: dict[str, tuple[Any, Any]]) -> str:
    if "scale" in apart:
        return "Draw both with standardize=None: released centres and spreads are not drawn twice"
    named = [f"{name}={own!r}" for name, (own, _) in apart.items() if name in _SETTABLE]
    if named:
        return f"Fit the reference with {', '.join(named)}"
    alone = "No setting differs: " if set(apart) == {"least"} else ""
    return f"{alone}Fit the reference to the rows and targets of the draws"
