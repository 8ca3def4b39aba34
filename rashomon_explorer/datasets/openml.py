"""Tables kept by OpenML, fetched once, cached by scikit-learn, and pinned by their data_id."""

import warnings
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any

import pandas as pd
from sklearn import datasets as sklearn_datasets
from sklearn.utils import Bunch

from rashomon_explorer.datasets.catalog import CatalogEntry
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.cells import as_text, is_missing
from rashomon_explorer.schema.words import quoted


def load_openml(entry: CatalogEntry) -> pd.DataFrame:
    """Fetch a pinned OpenML table and give its columns and labels their catalogue names.

    The first call downloads; later ones read scikit-learn's cache (its place is
    ``sklearn.datasets.get_data_home()``, changed by the variable ``SCIKIT_LEARN_DATA``).

    Of the entry's options ``data_id`` and ``version`` pin the table, ``rename`` maps OpenML's names
    of features to the catalogue's, ``drop`` lists features left out, ``labels`` maps values to
    readable ones, and ``missing_level`` stands for a missing category. The target is OpenML's
    default.
    """
    fetched = _fetch(entry)
    frame = pd.DataFrame(fetched.data).rename(columns=entry.options.get("rename", {}))
    frame = frame.drop(columns=entry.options.get("drop", []), errors="ignore")
    frame[entry.target] = fetched.target
    _check_columns(frame, entry)
    missing_level = entry.options.get("missing_level")
    labels: Mapping[str, Mapping[str, str]] = entry.options.get("labels", {})
    for column in {entry.target, *entry.sensitive, *entry.categories}:
        frame[column] = _readable(frame[column], labels.get(column, {}))
        if missing_level is not None and column != entry.target:
            frame[column] = frame[column].mask(is_missing(frame[column]), missing_level)
    return frame


def fetch_table(asked: str) -> tuple[str, pd.DataFrame]:
    """Fetch a table of OpenML by its name or number; nothing of it is declared by that.

    Parameters
    ----------
    asked : str
        ``"credit-g"``, or ``"31"``.

    Returns
    -------
    name : str
        Its name, with its number: two tables may be called alike.
    frame : DataFrame
        Its columns, the default target last.

    Raises
    ------
    DataError
        If there is no such table, no network, or no target.

    Examples
    --------
    >>> fetch_table(" ")
    Traceback (most recent call last):
        ...
    rashomon_explorer.exceptions.DataError: name the table: credit-g, or its number on OpenML, 31
    """
    asked = asked.strip()
    if not asked:
        raise DataError("name the table: credit-g, or its number on OpenML, 31")
    which = {"data_id": int(asked)} if asked.isdigit() else {"name": asked, "version": "active"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it tries again, and of versions
            fetched = sklearn_datasets.fetch_openml(**which, as_frame=True, n_retries=1)
    except (OSError, HTTPException, ValueError) as error:
        raise DataError(
            f"OpenML's table {asked!r} could not be fetched: {error}. It needs the network, and a "
            "name or number that www.openml.org knows. Without a network, save the table there as "
            "CSV and choose it as a file of your own"
        ) from error
    if fetched.target is None:
        raise DataError(f"OpenML's table {asked!r} names no one target: save it as CSV")
    frame = pd.DataFrame(fetched.data).assign(**{str(fetched.target.name): fetched.target})
    nominal = frame.select_dtypes("category").columns
    frame = frame.astype(dict.fromkeys(nominal, object))
    return f"{fetched.details['name']}-{fetched.details['id']}", frame


def _fetch(entry: CatalogEntry) -> Bunch:
    data_id = entry.options["data_id"]
    try:
        # one retry, the fewest it takes: each waits and warns, and the error says what to do
        fetched = sklearn_datasets.fetch_openml(data_id=data_id, as_frame=True, n_retries=1)
    except (OSError, HTTPException, ValueError) as error:
        raise DataError(_no_network(entry, error)) from error
    for key, option in (("id", "data_id"), ("version", "version")):
        pinned = entry.options.get(option)
        found = fetched.details.get(key, pinned)
        if pinned is not None and str(found) != str(pinned):
            raise DataError(
                f"OpenML returned {key} {found} for {entry.name!r}, which is pinned to {pinned}: "
                "empty scikit-learn's cache, sklearn.datasets.clear_data_home()"
            )
    return fetched


def _no_network(entry: CatalogEntry, error: Exception) -> str:
    data_id = entry.options["data_id"]
    return (
        f"data set {entry.name!r} comes from OpenML (data_id {data_id}) and could not be fetched: "
        f"{error}. Run this once with a network: the table is then kept in the folder "
        "sklearn.datasets.get_data_home() and works offline, also after that folder is copied to "
        f"this machine. Or save the table from https://www.openml.org/d/{data_id} as CSV and read "
        "it with load_csv(path, target=..., bounds=..., categories=...)"
    )


def _check_columns(frame: pd.DataFrame, entry: CatalogEntry) -> None:
    """Compare names first: a table that changed must not pass as the one described."""
    expected = {entry.target, *entry.sensitive, *entry.bounds, *entry.categories}
    absent = sorted(expected - set(frame.columns))
    if absent:
        raise DataError(
            f"OpenML's table for {entry.name!r} lacks {quoted(absent)}; its columns are "
            f"{quoted(frame.columns)}. It is not the table of the catalogue: empty scikit-learn's "
            "cache, sklearn.datasets.clear_data_home(), or read your copy with load_csv"
        )


def _readable(values: pd.Series, labels: Mapping[str, Any]) -> pd.Series:
    """Text of a nominal column, OpenML's quotes removed, values renamed."""
    text = as_text(values).str.strip("'\"")
    return text.map(lambda cell: labels.get(cell, cell))
