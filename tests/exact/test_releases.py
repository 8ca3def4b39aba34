"""What each released number charges: sensitivity, share of the budget, scale of the noise."""

import math

import numpy as np
import pytest

from rashomon_explorer.privacy.conversions import gdp_mu, zcdp_rho
from rashomon_explorer.problem.constants import Constants, row_bound
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.release.catalogue import get_query
from rashomon_explorer.release.groups import GroupGaps
from rashomon_explorer.release.losses import Accuracies, Excess, Losses, Reliance, SoftHits
from rashomon_explorer.release.multiplicity import MultiplicityQuery, largest_disagreement
from rashomon_explorer.release.plan import Budget, release_costs
from rashomon_explorer.release.query import PublicShape, Sensitivity
from rashomon_explorer.release.statistic import LAPLACE, Noise, on_grid
from tests.exact.conftest import exactly
from tests.release.cases import B, models_of

COEF = np.array([[0.6, 0.8, 0.5], [0.0, -1.0, 0.25], [0.3, 0.4, -0.1]])  # ‖w‖ = 1, 1, .5
REACH = B * np.array([1.0, 1.0, 0.5]) + np.array([0.5, 0.25, 0.1])
N = 20


def public(link="logistic", coef=COEF, n_rows=N):
    return PublicShape(models_of(link, coef), n_rows, True, True, ("a", "b", "c"))


def moved(query, link="logistic", coef=COEF):
    found = query.sensitivity(public(link, coef))
    return found.l1, found.l2


def both(widths):
    return exactly(float(np.sum(widths))), exactly(float(np.linalg.norm(widths)))


class TestShares:
    @pytest.mark.parametrize(
        "name", [*("ambiguity", "obscurity", "discrepancy", "any_pair_discrepancy", "abstention")]
    )
    def test_a_share_of_rows_moves_by_one_row(self, name):
        assert moved(get_query(name)) == both([1 / N])

    @pytest.mark.parametrize("name", ["delta_ambiguity", "delta_obscurity", "delta_discrepancy"])
    def test_a_share_of_changed_scores_too(self, name):
        assert moved(MultiplicityQuery(name, tolerance=0.1)) == both([1 / N])

    def test_votes(self):
        assert largest_disagreement(3, 2) == exactly(2 / 3)
        assert largest_disagreement(5, 3) == exactly(1 - (2 + 2) / 20)
        for name in ("disagreement", "self_consistency"):
            assert moved(get_query(name)) == both([2 / 3 / N])

    def test_scores(self):
        apart = max(
            B * np.linalg.norm(a[:2] - b[:2]) + abs(a[2] - b[2]) for a in COEF for b in COEF
        )
        width = math.tanh(apart / 4)
        assert moved(get_query("range_width")) == both([width / N])
        assert moved(get_query("score_variance")) == both([width**2 * (2 / 3) / 2 / N])
        assert moved(get_query("score_std")) == both([math.sqrt(width**2 / 3) / N])
        assert moved(get_query("range_width"), "identity") == both([apart * 3.0 / N])
        assert moved(get_query("rashomon_capacity")) == both([1 / N])

    def test_accuracies(self):
        assert moved(Accuracies()) == both([1 / N] * 3)
        assert moved(Accuracies("mean")) == both([1 / N])
        assert moved(Accuracies("least")) == both([1 / N])


class TestLosses:
    def test_ranges(self):
        assert moved(Losses()) == both(REACH / N)  # log(1 + e^s) − log(1 + e^(−s)) = s
        assert moved(Losses("mean")) == both([REACH.mean() / N])
        assert moved(Losses("largest")) == both([REACH.max() / N])
        assert moved(Losses(), "sign") == both([1 / N] * 3)
        assert moved(Losses(), "identity") == both((3 * (1 + REACH)) ** 2 / 2 / N)

    def test_reliance(self):
        slopes = np.abs(COEF[:, :2])
        assert moved(Reliance()) == both(4 * B * slopes.mean(axis=0) / N)
        assert moved(Reliance("largest")) == both(4 * B * slopes.max(axis=0) / N)
        assert moved(Reliance("each")) == both((4 * B * slopes / N).ravel())
        assert moved(Reliance(), "sign") == both([3 / N] * 2)
        norms, away = np.linalg.norm(COEF[:, :2], axis=1), np.abs(COEF[:, 2])
        others = np.sqrt(norms[:, None] ** 2 - slopes**2)
        steepest = 1 + away[:, None] + B * (others + slopes)
        widths = 4 * 3.0**2 * steepest * B * slopes
        assert moved(Reliance(), "identity") == both(widths.mean(axis=0) / N)

    def test_excess(self):
        made = Constants.from_loss(
            "logistic", n=N, p=3, domain=Ball(4.0), row_bound=row_bound(B, intercept=True)
        )
        shift = made.osc + made.gap_tolerance
        assert moved(Excess(radius=4.0)) == both([shift])
        assert moved(Excess(radius=4.0, over="each")) == both([shift] * 3)
        slope = shift / 1.5
        found = moved(SoftHits(radius=4.0, width=1.5))
        assert slope < 1 and found == (exactly(slope), exactly(slope))
        steep = moved(SoftHits(radius=4.0, width=1e-3))  # both ramps may turn over
        assert steep == (2.0, exactly(math.sqrt(2)))


class TestGroups:
    def test_counts(self):
        assert moved(get_query("group_sizes")) == (2.0, exactly(math.sqrt(2)))
        assert moved(get_query("base_rates")) == both([1 / N])
        assert moved(get_query("base_rates"), "softmax", None) == both([1 / N] * 2)

    def test_gaps(self):
        """√k in length and k + 2w = k + √k in the sum."""
        for of in ("selection", "accuracy", "true_positive", "false_positive"):
            assert moved(GroupGaps(of)) == (exactly(3 + math.sqrt(3)), exactly(math.sqrt(3)))
            assert moved(GroupGaps(of, over="mean")) == (2.0, 1.0)
        assert moved(GroupGaps("base")) == (2.0, 1.0)

    def test_sizes_and_sums_weigh_what_the_sensitivity_says(self):
        query, table = GroupGaps(), public()
        assert query._weight(table) == exactly(math.sqrt(3) / 2)


class TestBudgets:
    QUERIES = (get_query("ambiguity"), get_query("losses"))
    MOVED = (Sensitivity(0.05, 0.05), Sensitivity(0.3, 0.2))

    def test_laplace(self):
        priced, total = release_costs(self.QUERIES, self.MOVED, Budget(epsilon=2.0))
        assert [one.noise.scale for one in priced] == pytest.approx([0.05, 0.3], rel=1e-8)
        assert all(one.noise.scale >= exact for one, exact in zip(priced, (0.05, 0.3), strict=True))
        assert all(one.noise.kind == LAPLACE for one in priced)
        assert total.pure_epsilon == 2.0 and total.rho == exactly(2.0)

    def test_gaussian(self):
        weights = {"ambiguity": 1.0, "losses": 3.0}
        priced, total = release_costs(self.QUERIES, self.MOVED, Budget(rho=2.0), weights)
        scales = [0.05 / (2 * math.sqrt(0.25)), 0.2 / (2 * math.sqrt(0.75))]
        assert [one.noise.scale for one in priced] == pytest.approx(scales, rel=1e-8)
        assert [one.share for one in priced] == [0.25, 0.75]
        assert math.hypot(*[m.l2 / one.noise.scale for m, one in zip(self.MOVED, priced)]) <= 2.0  # noqa: B905
        assert total.mu == 2.0

    def test_wanted_errors(self):
        priced, total = release_costs(self.QUERIES, self.MOVED, Budget(standard_error=0.1))
        assert total.mu == exactly(math.hypot(0.5, 2.0))
        assert [one.noise.scale for one in priced] == pytest.approx([0.1, 0.1], rel=1e-8)
        assert min(one.noise.scale for one in priced) > 0.1

    def test_a_budget_s_mu(self):
        assert Budget(rho=0.02).mu_total(ledger=True) == exactly(0.2)
        bought = Budget(epsilon=1.0, delta=1e-6)
        assert bought.mu_total(ledger=True) == exactly(math.sqrt(2 * zcdp_rho(1.0, 1e-6)))
        assert bought.mu_total(ledger=False) == exactly(gdp_mu(1.0, 1e-6))

    def test_noise(self):
        rng = np.random.default_rng(0)
        assert np.std(Noise(0.3).draw(rng, 200_000)) == pytest.approx(0.3, rel=0.02)
        drawn = Noise(0.3, LAPLACE).draw(rng, 200_000)
        assert np.std(drawn) == pytest.approx(0.3 * math.sqrt(2), rel=0.03)
        assert Noise(0.3, LAPLACE).deviation == exactly(0.3 * math.sqrt(2))
        assert Noise(0.3).quantile(0.95) == pytest.approx(0.3 * 1.959964, rel=1e-6)
        assert Noise(0.3, LAPLACE).quantile(0.95) == exactly(0.3 * math.log(20))
        assert float(on_grid(np.array([0.1]), Noise(0.3))[0]) * 4096 == 410.0
