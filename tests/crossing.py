"""Tests of all combinations of a few settings: each setting in the fast suite, the rest as laws."""

import itertools
from typing import Any

import pytest


def crossed(axes):
    """Parametrise a test by every combination of the axes.

    As many combinations as the longest axis has values are run always, the k-th value of each with
    the k-th of the others, so that every value is: put the sharpest first. All others are laws.
    """
    axes = {names: list(values) for names, values in axes.items()}
    longest = max(map(len, axes.values()))
    kept = {tuple(k % len(values) for values in axes.values()) for k in range(longest)}
    every = itertools.product(*(range(len(values)) for values in axes.values()))
    names = [name.strip() for words in axes for name in words.split(",")]
    return pytest.mark.parametrize(
        names,
        [
            _joined(
                [values[k] for values, k in zip(axes.values(), chosen, strict=True)],
                [words.count(",") + 1 for words in axes],
                law=chosen not in kept,
            )
            for chosen in every
        ],
    )


def _joined(parts, sizes, *, law):
    """One set of parameters out of a value or a tuple or ``pytest.param`` of each axis."""
    values: list[Any] = []
    marks: list[Any] = [pytest.mark.law] if law else []
    words = []
    for part, size in zip(parts, sizes, strict=True):
        known = part if hasattr(part, "marks") else pytest.param(*(part if size > 1 else (part,)))
        values += known.values
        marks += known.marks
        words.append(known.id or "-".join(map(_word, known.values)))
    return pytest.param(*values, marks=marks, id="-".join(words))


def _word(value):
    """As pytest names a value, or its type."""
    plain = value is None or isinstance(value, str | int | float | bool)
    return str(value) if plain else getattr(value, "__name__", type(value).__name__)
