"""Data sets: rows, their public declarations, and nothing learnt from the rows.

Every loader returns the same :class:`sklearn.utils.Bunch`: ``X`` (float columns inside declared
bounds), ``y`` (class codes, or numbers inside ``target_bounds``), ``sensitive`` (columns that no
model sees), and the declarations themselves.

Examples
--------
>>> from rashomon_explorer.datasets import load_dataset
>>> data = load_dataset("breast_cancer")
>>> data.X.shape, data.bounds["mean radius"], data.classes
((569, 30), (5.0, 30.0), ['malignant', 'benign'])
"""

from rashomon_explorer.datasets.lending import LENDING_COEFFICIENTS
from rashomon_explorer.datasets.loaders import LOADERS, list_datasets, load_dataset
from rashomon_explorer.datasets.own_csv import load_csv

__all__ = ["LENDING_COEFFICIENTS", "LOADERS", "list_datasets", "load_csv", "load_dataset"]
