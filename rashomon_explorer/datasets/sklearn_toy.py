"""The tables that come with scikit-learn: real, small and offline."""

import numpy as np
import pandas as pd
from sklearn import datasets as sklearn_datasets

from rashomon_explorer.datasets.catalog import CatalogEntry


def load_sklearn_toy(entry: CatalogEntry) -> pd.DataFrame:
    """Call the function of :mod:`sklearn.datasets` that the catalogue names.

    ``options["function"]`` is its name, ``options["arguments"]`` its keyword arguments; class names
    take the place of class numbers.

    >>> from rashomon_explorer.datasets.catalog import read_catalog
    >>> load_sklearn_toy(read_catalog()["wine"])["cultivar"].unique().tolist()
    ['class_0', 'class_1', 'class_2']
    """
    function = getattr(sklearn_datasets, entry.options["function"])
    data = function(as_frame=True, **entry.options.get("arguments", {}))
    labels = data.target.to_numpy()
    if "target_names" in data:
        labels = np.asarray(data.target_names)[labels]
    return data.data.assign(**{entry.target: labels})
