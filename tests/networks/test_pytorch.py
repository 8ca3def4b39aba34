"""PyTorch modules as models; needs the extra."""

import numpy as np
import pytest

from rashomon_explorer import RashomonNetworkClassifier
from rashomon_explorer.networks import Network, TorchModel
from rashomon_explorer.networks.losses import Logistic

torch = pytest.importorskip("torch")


def module(n_features, n_outputs):
    nn = torch.nn
    return nn.Sequential(nn.Linear(n_features, 5), nn.Tanh(), nn.Linear(5, n_outputs))


def test_a_module_has_the_clipped_sums_of_the_same_network():
    rng = np.random.default_rng(0)
    rows, targets = rng.uniform(-1, 1, (20, 3)), rng.integers(0, 2, 20).astype(float)
    model, network = TorchModel(module), Network((5,))
    theta = model.start(3, 1, rng)
    first, second = theta[:15].reshape(5, 3).T, theta[20:25].reshape(5, 1)
    same = [np.vstack([first, theta[15:20]]).ravel(), np.vstack([second, theta[25:]]).ravel()]
    loss, clip = Logistic(2), 0.3

    def slopes(scores):
        return loss.slopes(scores, targets, np.empty(0))

    ours = network.clipped_sum(np.concatenate(same), rows, 1, slopes, clip)
    theirs = model.clipped_sum(theta, rows, 1, slopes, clip)
    assert np.linalg.norm(theirs) == pytest.approx(np.linalg.norm(ours), rel=1e-9)
    alone = super(TorchModel, model).clipped_sum(theta, rows, 1, slopes, clip)
    np.testing.assert_allclose(theirs, alone, rtol=1e-9, atol=1e-12)


def test_rows_are_not_mixed_and_files_refuse_code():
    def mixing(n_features, n_outputs):
        class Centred(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(n_features, n_outputs)

            def forward(self, rows):
                return self.linear(rows - rows.mean(dim=0))

        return Centred()

    scores = TorchModel(mixing).scores(np.ones(3), np.arange(6.0).reshape(3, 2), 1)
    assert (scores == scores[0]).all()  # each row is its own mean
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (300, 2))
    settings = {"n_steps": 20, "n_draws": 3, "row_norm": 2.0, "random_state": 0}
    clf = RashomonNetworkClassifier(model=TorchModel(module), epsilon=4.0, **settings)
    clf.fit(X, X[:, 0] > 0)
    assert any("takes each row by itself" in line for line in clf.guarantee_.assumptions)
    with pytest.raises(TypeError, match="stored"):
        clf.rashomon_set_.release().save("networks.npz")
