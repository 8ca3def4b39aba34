"""The public door to the catalogue: names to Bunches."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.datasets.bunch import make_bunch
from rashomon_explorer.datasets.catalog import CatalogEntry, read_catalog
from rashomon_explorer.datasets.lending import load_lending
from rashomon_explorer.datasets.monks import load_monks
from rashomon_explorer.datasets.openml import load_openml
from rashomon_explorer.datasets.sklearn_toy import load_sklearn_toy
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.words import quoted, suggestion

LOADERS: Mapping[str, Callable[[CatalogEntry], pd.DataFrame]] = {
    "sklearn": load_sklearn_toy,
    "lending": load_lending,
    "monks": load_monks,
    "openml": load_openml,
}
"""Loader kinds that a catalogue entry may name; each returns the raw columns of the table."""


def load_dataset(name: str, *, positive: Any = None) -> Bunch:
    """Load a data set of the catalogue.

    Parameters
    ----------
    name : str
        One of the names of :func:`list_datasets`.
    positive : object, optional
        Class coded 1, all other classes 0. By default the catalogue's positive class; tables with
        three or more classes then keep them all, coded 0, 1, ...

    Returns
    -------
    sklearn.utils.Bunch
        ``name`` str; ``X`` DataFrame of floats (n_rows, n_features), clipped into ``bounds``;
        ``y`` Series (n_rows,), class codes or numbers clipped into ``target_bounds``;
        ``sensitive`` DataFrame (n_rows, 0 or more) of columns that are not in ``X``;
        ``bounds`` dict of column to (low, high), declared, not learnt; ``bounds_learnt`` False;
        ``target_bounds`` (low, high), None for classification; ``task``; ``classes`` list,
        ``classes[k]`` coded k, None for regression; ``feature_names``;
        ``feature_groups`` dict of a category to its columns in ``X``; ``DESCR``; ``source``.

    Raises
    ------
    DataError
        If there is no such data set or class, or the table has to be fetched and there is no
        network.

    Examples
    --------
    >>> data = load_dataset("lending")
    >>> data.X.shape, list(data.sensitive), data.classes
    ((50000, 10), ['group'], ['no', 'yes'])
    >>> load_dataset("wine", positive="class_2").classes
    ['not class_2', 'class_2']
    """
    catalog = read_catalog()
    if name not in catalog:
        raise DataError(
            f"there is no data set {name!r}{suggestion(name, catalog)}; the names are "
            f"{quoted(catalog, limit=50)}. Read a file of your own with load_csv"
        )
    entry = catalog[name]
    if entry.loader not in LOADERS:
        raise DataError(
            f"catalogue entry {name!r} names the loader {entry.loader!r}; "
            f"the loaders are {quoted(LOADERS)}"
        )
    frame = LOADERS[entry.loader](entry)
    return make_bunch(
        frame,
        entry.declaration(list(frame.columns), positive),
        name=name,
        description=_description(entry),
        source=entry.source,
    )


def list_datasets() -> pd.DataFrame:
    """List the data sets of the catalogue, one a row.

    Returns
    -------
    DataFrame
        Columns ``name``, ``task``, ``rows``, ``features``, ``source``, ``description``.

    Examples
    --------
    >>> list_datasets().loc[0, "name"]
    'lending'
    """
    columns = ["name", "task", "rows", "features", "source", "description"]
    entries = read_catalog().values()
    return pd.DataFrame(
        [[getattr(entry, column) for column in columns] for entry in entries], columns=columns
    )


def _description(entry: CatalogEntry) -> str:
    parts = [entry.description, entry.details.strip(), f"Source: {entry.source}"]
    return "\n\n".join(part for part in [*parts, f"Licence: {entry.licence}"] if part)
