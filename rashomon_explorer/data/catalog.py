"""The data sets of the catalogue and their loaders."""

import itertools
import os
import tomllib
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn import datasets as sklearn_datasets
from sklearn.utils import Bunch

from rashomon_explorer._utils.assets import asset_path
from rashomon_explorer.data.bunch import make_bunch
from rashomon_explorer.data.cells import as_text, is_missing
from rashomon_explorer.data.columns import Levelled, Numeric
from rashomon_explorer.data.messages import quoted, suggestion
from rashomon_explorer.data.schema import TableSchema
from rashomon_explorer.exceptions import DataError


@dataclass(frozen=True)
class CatalogEntry:
    """One data set as ``datasets/catalog.toml`` describes it."""

    name: str  # the entry's key
    loader: str  # kind of loader, a key of :data:`LOADERS`
    task: str
    # rows, features: size of the table after encoding
    rows: int
    features: int
    description: str  # one line
    # source, licence: origin of the table and its terms of use
    source: str
    licence: str
    columns: Mapping[str, Mapping[str, Any]]  # as in the file of a schema; one is the target
    details: str = ""  # longer text for ``DESCR``
    positive: Any = None  # class coded 1 unless the caller chooses another
    options: Mapping[str, Any] = field(default_factory=dict)  # settings of the loader

    @cached_property
    def schema(self) -> TableSchema:
        """Schema of the table."""
        return TableSchema.from_dict({"columns": self.columns})

    @property
    def target(self) -> str:
        """Column to predict."""
        return next(column.name for column in self.schema.columns if column.role == "target")

    @property
    def levels(self) -> dict[str, Sequence[Any]]:
        """Declared levels of every column that has some."""
        columns = (column for column in self.schema.columns if isinstance(column, Levelled))
        return {column.name: column.levels for column in columns}

    @property
    def offline(self) -> bool:
        """Whether the table needs no network."""
        return self.loader not in ("openml", "acs")


@lru_cache(maxsize=8)
def read_catalog(path: Path | None = None) -> Mapping[str, CatalogEntry]:
    """Entries of the catalogue by name, in the order of the file."""
    file = asset_path("datasets/catalog.toml") if path is None else path
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {name: _entry(name, table) for name, table in tables.items()}


def _entry(name: str, table: Mapping[str, Any]) -> CatalogEntry:
    settings = {f.name for f in fields(CatalogEntry)} - {"name"}
    if unknown := sorted(set(table) - settings):
        raise DataError(f"catalogue entry {name!r} has unknown keys {quoted(unknown)}")
    try:
        return CatalogEntry(name=name, **table)
    except TypeError as error:
        raise DataError(f"catalogue entry {name!r} is incomplete: {error}") from error


LENDING_ROWS = 50_000
LENDING_SEED = 20_240_601

LENDING_COEFFICIENTS: dict[str, float] = {
    "income_index": 1.4,
    "debt_to_income": -1.2,
    "credit_utilisation": -1.2,
    "late_payments_share": -1.8,
    "years_employed_index": 1.1,
    "savings_index": 1.3,
    "loan_to_income": -1.0,
    "age_index": 0.4,
    "neighbourhood_index": 0.7,
    "lucky_number": 0.0,
    "intercept": 0.6,
}
"""True coefficients of the logistic model of ``repaid``, the intercept last."""

GROUP_B_SHARE = 0.35


def load_lending(entry: CatalogEntry) -> pd.DataFrame:
    """Generate the table; each call returns a new copy."""
    columns, repaid, group_b = simulate_lending()
    frame = pd.DataFrame(columns)
    frame["repaid"] = np.where(repaid, "yes", "no")
    frame["group"] = np.where(group_b, "B", "A")
    return frame


@lru_cache(maxsize=1)
def simulate_lending() -> tuple[
    dict[str, npt.NDArray[np.float64]], npt.NDArray[np.bool_], npt.NDArray[np.bool_]
]:
    """Draw features, repayment and group from the documented process."""
    rng = np.random.Generator(np.random.PCG64(LENDING_SEED))
    group_b = rng.random(LENDING_ROWS) < GROUP_B_SHARE
    ease = _bell(rng) - 0.45 * group_b
    burden = _bell(rng)
    raw = {
        "income_index": 0.20 * ease + 0.22 * _bell(rng),
        "debt_to_income": -0.08 * ease + 0.22 * burden + 0.13 * _bell(rng),
        "credit_utilisation": -0.06 * ease + 0.22 * burden + 0.15 * _bell(rng),
        "late_payments_share": -0.12 * ease + 0.06 * burden + 0.24 * _bell(rng),
        "years_employed_index": 0.10 * ease + 0.20 * _bell(rng),
        "savings_index": 0.20 * ease + 0.18 * _bell(rng),
        "loan_to_income": -0.10 * ease + 0.12 * burden + 0.15 * _bell(rng),
        "age_index": 0.05 * ease + 0.15 * _bell(rng),
        "neighbourhood_index": (0.10 * ease - 0.28 * (group_b - GROUP_B_SHARE) + 0.12 * _bell(rng)),
        "lucky_number": 0.6 * (rng.random(LENDING_ROWS) - 0.5),
    }
    features = {name: np.clip(values, -0.5, 0.5) for name, values in raw.items()}
    score = np.full(LENDING_ROWS, LENDING_COEFFICIENTS["intercept"])
    for name, values in features.items():
        score += LENDING_COEFFICIENTS[name] * values
    repaid = rng.random(LENDING_ROWS) < 1.0 / (1.0 + np.exp(-score))
    for values in (*features.values(), repaid, group_b):
        values.flags.writeable = False
    return features, repaid, group_b


def _bell(rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Bell-shaped noise, mean 0 and variance 1, on [-3, 3]."""
    first, second, third = (rng.random(LENDING_ROWS) for _ in range(3))
    return 2.0 * (first + second + third - 1.5)


ATTRIBUTE_VALUES: dict[str, int] = {"a1": 3, "a2": 3, "a3": 2, "a4": 3, "a5": 4, "a6": 2}
"""Number of values of each attribute; they are 1, 2, ..."""


RULES: Mapping[int, Callable[[pd.DataFrame], pd.Series]] = {
    1: lambda robots: (robots["a1"] == robots["a2"]) | (robots["a5"] == 1),
    2: lambda robots: (robots == 1).sum(axis=1) == 2,
    3: lambda robots: (
        ((robots["a5"] == 3) & (robots["a4"] == 1)) | ((robots["a5"] != 4) & (robots["a2"] != 3))
    ),
}
"""Rule of each problem, from Thrun et al. 1991, "The MONK's Problems", CMU-CS-91-197."""


def load_monks(entry: CatalogEntry) -> pd.DataFrame:
    """All 432 robots with their noise-free label."""
    values = (range(1, count + 1) for count in ATTRIBUTE_VALUES.values())
    robots = pd.DataFrame(list(itertools.product(*values)), columns=list(ATTRIBUTE_VALUES))
    labels = RULES[entry.options["rule"]](robots)
    return robots.assign(**{entry.target: labels.astype(int)})


def load_sklearn_toy(entry: CatalogEntry) -> pd.DataFrame:
    """Call the function of :mod:`sklearn.datasets` that the catalogue names."""
    function = getattr(sklearn_datasets, entry.options["function"])
    data = function(as_frame=True, **entry.options.get("arguments", {}))
    labels = data.target.to_numpy()
    if "target_names" in data:
        labels = np.asarray(data.target_names)[labels]
    return data.data.assign(**{entry.target: labels})


def load_shipped(entry: CatalogEntry) -> pd.DataFrame:
    """Read a file of this package whose codes are places in the declared levels."""
    frame = pd.read_csv(asset_path(f"datasets/{entry.options['file']}"))
    for name in frame.columns.intersection(list(entry.levels)):
        first = 0 if name in entry.options["codes_from_zero"] else 1
        frame[name] = np.asarray(entry.levels[name], dtype=object)[frame[name] - first]
    return _with_ranges(frame, entry)[list(entry.columns)]


def _with_ranges(frame: pd.DataFrame, entry: CatalogEntry) -> pd.DataFrame:
    """Add columns whose levels are ranges of a number; a missing number stays missing."""
    for name, ranges in entry.options.get("ranges", {}).items():
        numbers = frame[ranges["column"]]
        positions = np.searchsorted(ranges["starts"], numbers, side="right") - 1
        levels = np.asarray([*entry.levels[name], None], dtype=object)
        frame[name] = levels[np.where(numbers >= ranges["starts"][0], positions, -1)]
    return frame


ACS_SOURCE = "https://www2.census.gov/programs-surveys/acs/data/pums/2018/1-Year"
ACS_ADULTS = {"AGEP": 16, "PINCP": 100, "WKHP": 0, "PWGTP": 0}
"""Persons above each of these are kept: ``adult_filter`` of folktables."""
ACS_INCOME = 50_000
"""Dollars a year above which a person is in the positive class, as in folktables' ACSIncome."""


def load_acs(entry: CatalogEntry) -> pd.DataFrame:
    """Read the persons of one state from the American Community Survey, by ACSIncome's rules."""
    path = _fetch_acs(entry.options["state"])
    read = {*entry.columns, *ACS_ADULTS} - {entry.target}
    try:
        with zipfile.ZipFile(path) as archive:
            (name,) = [
                file_name for file_name in archive.namelist() if file_name.startswith("psam_p")
            ]
            frame = pd.read_csv(archive.open(name), usecols=lambda column: column in read)
    except (zipfile.BadZipFile, ValueError) as error:
        raise DataError(f"{path} is not a file of persons of 2018: delete it ({error})") from error
    _check_columns(frame, read, f"{path}, the file of {entry.name!r},", "Delete it")
    adult = np.logical_and.reduce(
        [frame[name] > lower_bound for name, lower_bound in ACS_ADULTS.items()]
    )
    frame = _with_ranges(frame[adult].copy(), entry)
    frame[entry.target] = np.where(frame["PINCP"] > ACS_INCOME, ">50K", "<=50K")
    for column, labels in entry.options["labels"].items():
        frame[column] = _readable(frame[column], labels)
    return frame[list(entry.columns)]


def _fetch_acs(state: str) -> Path:
    """Path of a state's file, which is fetched once."""
    if not (len(state) == 2 and state.isalpha()):
        raise DataError(f"state must be two letters, such as 'CA', got {state!r}")
    folder = Path(sklearn_datasets.get_data_home()) / "acs-2018-1-year"
    path = folder / f"csv_p{state.lower()}.zip"
    if not path.exists():
        folder.mkdir(exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        url = f"{ACS_SOURCE}/{path.name}"
        try:
            with urlopen(url, timeout=60) as answer:
                part.write_bytes(answer.read())
        except (OSError, HTTPException) as error:
            raise DataError(
                f"{url} could not be fetched: {error}. Run this once with a network (and check "
                f"that state={state!r} is one); or fetch the file elsewhere and save it as {path}"
            ) from error
        part.replace(path)
    return path


def load_openml(entry: CatalogEntry) -> pd.DataFrame:
    """Fetch a pinned OpenML table and give its columns and labels their catalogue names."""
    fetched = _fetch_pinned(entry)
    frame = pd.DataFrame(fetched.data).rename(columns=entry.options.get("rename", {}))
    frame = frame.drop(columns=entry.options.get("drop", []), errors="ignore")
    frame[entry.target] = fetched.target
    _check_columns(
        frame,
        set(entry.columns),
        f"OpenML's table for {entry.name!r}",
        "It is not the table of the catalogue: empty scikit-learn's cache, "
        "sklearn.datasets.clear_data_home(), or read your copy with load_csv",
    )
    missing_level = entry.options.get("missing_level")
    labels: Mapping[str, Mapping[str, str]] = entry.options.get("labels", {})
    for column in (c.name for c in entry.schema.columns if not isinstance(c, Numeric)):
        frame[column] = _readable(frame[column], labels.get(column, {}))
        if missing_level is not None and column != entry.target:
            frame[column] = frame[column].mask(is_missing(frame[column]), missing_level)
    return frame


def fetch_table(table: str) -> tuple[str, pd.DataFrame]:
    """Fetch an OpenML table by name or number, without any declaration."""
    table = table.strip()
    if not table:
        raise DataError("give the table's name, such as credit-g, or its OpenML number, 31")
    which = {"data_id": int(table)} if table.isdigit() else {"name": table, "version": "active"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about retries and versions
        fetched = _fetch(
            f"OpenML's table {table!r}",
            "This needs the network and a name or number that www.openml.org has. Without a "
            "network, save the table there as CSV and load that file",
            **which,
        )
    if fetched.target is None:
        raise DataError(f"OpenML's table {table!r} names no single target: save it as CSV")
    frame = pd.DataFrame(fetched.data).assign(**{str(fetched.target.name): fetched.target})
    nominal = frame.select_dtypes("category").columns
    frame = frame.astype(dict.fromkeys(nominal, object))
    return f"{fetched.details['name']}-{fetched.details['id']}", frame


def _fetch(what: str, remedy: str, **which: Any) -> Bunch:
    try:
        # one retry, the minimum: each retry waits and warns, and the error states what to do
        return sklearn_datasets.fetch_openml(**which, as_frame=True, n_retries=1)
    except (OSError, HTTPException, ValueError) as error:
        raise DataError(f"{what} could not be fetched: {error}. {remedy}") from error


def _fetch_pinned(entry: CatalogEntry) -> Bunch:
    data_id = entry.options["data_id"]
    fetched = _fetch(
        f"data set {entry.name!r} comes from OpenML (data_id {data_id}) and",
        "Run this once with a network: the table is then kept in the folder "
        "sklearn.datasets.get_data_home() and works offline, also after that folder is copied to "
        f"this machine. Or save the table from https://www.openml.org/d/{data_id} as CSV and read "
        "it with load_csv(path, target=..., bounds=..., categories=...)",
        data_id=data_id,
    )
    for key, option in (("id", "data_id"), ("version", "version")):
        pinned = entry.options.get(option)
        fetched_value = fetched.details.get(key, pinned)
        if pinned is not None and str(fetched_value) != str(pinned):
            raise DataError(
                f"OpenML returned {key} {fetched_value} for {entry.name!r}, which is pinned to "
                f"{pinned}: empty scikit-learn's cache, sklearn.datasets.clear_data_home()"
            )
    return fetched


def _check_columns(frame: pd.DataFrame, expected: set[str], what: str, remedy: str) -> None:
    """Compare column names first, so that a changed table is not accepted."""
    if absent := sorted(expected - set(frame.columns)):
        raise DataError(
            f"{what} lacks {quoted(absent)}; its columns are {quoted(frame.columns)}. {remedy}"
        )


def _readable(values: pd.Series, labels: Mapping[str, Any]) -> pd.Series:
    """Text of a nominal column without OpenML's quotes and with renamed values."""
    text = as_text(values).str.strip("'\"")
    return text.map(lambda cell: labels.get(cell, cell))


LOADERS: Mapping[str, Callable[[CatalogEntry], pd.DataFrame]] = {
    "sklearn": load_sklearn_toy,
    "lending": load_lending,
    "monks": load_monks,
    "shipped": load_shipped,
    "openml": load_openml,
    "acs": load_acs,
}
"""Loader kinds that a catalogue entry may name; each returns the raw columns of the table."""


def load_dataset(name: str, *, positive: Any = None, state: str | None = None) -> Bunch:
    """Load a data set of the catalogue.

    Parameters
    ----------
    name : str
        One of the names of :func:`list_datasets`.
    positive : object, optional
        Class coded 1, all other classes 0. By default the catalogue's positive class; tables with
        three or more classes then keep them all, coded 0, 1, ...
    state : str, optional
        Two letters of a state of the USA, for ``"acs_income"``; by default California.

    Returns
    -------
    sklearn.utils.Bunch
        ``name`` str; ``X`` DataFrame of floats (n_rows, n_features), clipped into ``bounds``;
        ``y`` Series (n_rows,), class codes or numbers clipped into ``target_bounds``;
        ``sensitive`` DataFrame (n_rows, 0 or more) of columns that are not in ``X``;
        ``bounds`` dict of column to (low, high), all declared; ``bounds_learnt`` False;
        ``target_bounds`` (low, high), None for classification; ``task``; ``classes`` list,
        ``classes[k]`` coded k, None for regression; ``feature_names``;
        ``feature_groups`` dict of a category to its columns in ``X``; ``schema`` TableSchema;
        ``frame`` DataFrame, the table before it was encoded; ``DESCR`` with licence; ``source``;
        ``public_rows``, whether this package or scikit-learn ships or generates them.

    Raises
    ------
    DataError
        If there is no such data set or class, ``state`` is given for a table without states,
        or a required download fails without a network.

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
    if state is not None:
        if "state" not in entry.options:
            raise DataError(f"state={state!r} is for 'acs_income', got {name!r}: take it out")
        entry = replace(entry, options={**entry.options, "state": state})
    frame = LOADERS[entry.loader](entry)
    parts = [entry.description, entry.details.strip(), f"Source: {entry.source}"]
    data = make_bunch(
        frame,
        entry.schema.in_order(list(frame.columns)),
        task=entry.task,
        positive=entry.positive if positive is None else positive,
        name=name,
        description="\n\n".join(part for part in [*parts, f"Licence: {entry.licence}"] if part),
        source=entry.source,
    )
    data.public_rows = entry.offline
    return data


def list_datasets() -> pd.DataFrame:
    """List the data sets of the catalogue, one per row.

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
