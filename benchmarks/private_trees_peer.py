"""Accuracy of diffprivlib's tree and forest; imports nothing of the package."""

import argparse
import json
import warnings

import numpy as np
from diffprivlib.models import DecisionTreeClassifier, RandomForestClassifier

KINDS = {"diffprivlib tree": DecisionTreeClassifier, "diffprivlib forest": RandomForestClassifier}


def main() -> None:
    """Fit every split at every ε, with the defaults: depth 5, and ten trees in a forest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="rows, targets, splits and budgets (.npz)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with np.load(options.file) as given:
        rows, targets, splits = given["rows"], given["targets"], given["fit"]
        budgets = given["epsilons"].tolist()
    bounds = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
    found: dict[str, dict[str, list[float]]] = {name: {} for name in KINDS}
    for name, kind in KINDS.items():
        for epsilon in budgets:
            accuracies = []
            for seed, fit in enumerate(splits):
                model = kind(
                    epsilon=epsilon, bounds=bounds, classes=np.unique(targets), random_state=seed
                )
                model.fit(rows[fit], targets[fit])
                test = np.setdiff1d(np.arange(len(rows)), fit)
                accuracies.append(float(model.score(rows[test], targets[test])))
            found[name][f"{epsilon:g}"] = accuracies
    print(json.dumps(found))


if __name__ == "__main__":
    main()
