"""Train the same network with Opacus where it is installed; imports nothing of the package.

    .venv-bench/bin/pip install opacus==1.6.0

installs it. Reads one table and its splits (.npz) and prints the held-out accuracies of the last
state of DP-SGD, as JSON: by neighbours, ε, and the setting of its steps. Opacus states ε for an
added or removed row; ours is for a replaced row, which moves a sum twice as far and so takes twice
the noise.
"""

import argparse
import json
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from opacus import GradSampleModule
from opacus.accountants.utils import get_noise_multiplier
from opacus.optimizers import DPOptimizer

NOISE = {"added or removed": 1.0, "replaced": 2.0}
RATES = (0.2, 1.0)
STEPS = (200, 600)


def main() -> None:
    """Train on every split at every ε with every setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="arrays of the table (.npz)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with np.load(options.file) as arrays:
        given = dict(arrays)
    cells = []
    for (rows, factor), epsilon, rate, steps in product(
        NOISE.items(), given["epsilons"].tolist(), RATES, STEPS
    ):
        scores = [
            _accuracy(given, fit, seed, epsilon, factor, rate, steps)
            for seed, fit in enumerate(given["splits"])
        ]
        cells.append(
            {"rows": rows, "epsilon": epsilon, "rate": rate, "steps": steps, "scores": scores}
        )
    print(json.dumps(cells))


def _accuracy(
    given: dict[str, NDArray[np.generic]],
    fit: NDArray[np.intp],
    seed: int,
    epsilon: float,
    factor: float,
    rate: float,
    steps: int,
) -> float:
    """Accuracy on the rows that a split keeps away."""
    torch.manual_seed(seed)
    rows = torch.as_tensor(given["rows"], dtype=torch.float32)
    targets = torch.as_tensor(given["targets"], dtype=torch.int64)
    sampled = min(1.0, int(given["batch"]) / len(fit))
    noise = get_noise_multiplier(
        target_epsilon=epsilon, target_delta=float(given["delta"]), sample_rate=sampled, steps=steps
    )
    units, classes = int(given["units"]), int(targets.max()) + 1
    network = GradSampleModule(
        torch.nn.Sequential(
            torch.nn.Linear(rows.shape[1], units), torch.nn.Tanh(), torch.nn.Linear(units, classes)
        )
    )
    optimizer = DPOptimizer(
        torch.optim.SGD(network.parameters(), lr=rate),
        noise_multiplier=factor * noise,
        max_grad_norm=1.0,
        expected_batch_size=sampled * len(fit),
    )
    members = torch.as_tensor(fit)
    for _ in range(steps):
        batch = members[torch.rand(len(members)) < sampled]
        if len(batch) == 0:
            continue
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(rows[batch]), targets[batch]).backward()
        optimizer.step()
    test = np.setdiff1d(np.arange(len(rows)), fit)
    with torch.no_grad():
        labels = network(rows[test]).argmax(axis=1)
    return float((labels == targets[test]).float().mean())


if __name__ == "__main__":
    main()
