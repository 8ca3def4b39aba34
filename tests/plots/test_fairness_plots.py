"""Fairness figures: what they show, and that a release cannot make them."""

from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import plots
from rashomon_explorer.measures import fairness_audit
from rashomon_explorer.privacy.notions import no_guarantee
from tests.plots.conftest import trace_of

MAKERS = {"frontier": plots.plot_frontier, "range": plots.plot_fairness_range}


@pytest.fixture(scope="module")
def audit(models, rows):
    return fairness_audit(models, rows.X, rows.y, rows.groups)


@pytest.mark.parametrize("name", MAKERS)
def test_figures_are_the_curator_s(name, models, audit):
    figure = MAKERS[name](audit)
    assert figure.layout.meta["view"] == "curator"
    with pytest.raises(TypeError, match="needs a FairnessAudit, got ReleasedSet"):
        MAKERS[name](models.release())
    bare = replace(audit, models=replace(models, guarantee=no_guarantee("learnt bounds")))
    assert MAKERS[name](bare).layout.meta["view"] == "none"


def test_the_frontier_figure_shows_every_model_and_its_marks(audit):
    gap = "equalized_odds_difference"
    ringed = int(audit.table.index[1])
    figure = plots.plot_frontier(audit, gap, highlight=[ringed])
    dots, line = trace_of(figure, "draw"), trace_of(figure, "frontier")
    np.testing.assert_allclose(dots.x, audit.table[gap], rtol=1e-6)
    np.testing.assert_allclose(dots.y, audit.table["accuracy"], rtol=1e-6)
    assert dots.customdata.tolist() == audit.table.index.tolist()
    assert np.flatnonzero(np.asarray(dots.marker.line.width) > 1).tolist() == [1]
    steps = audit.frontier(gap)
    np.testing.assert_allclose(line.x, steps[gap].iloc[::-1], rtol=1e-6)
    assert (np.diff(line.x) > 0).all()
    best, fairest = trace_of(figure, "best model"), trace_of(figure, "least unfair")
    assert (best.x[0], best.y[0]) == (audit.best[gap], audit.best["accuracy"])
    assert fairest.x[0] == audit.table[gap].min()
    assert "selected on these rows" in figure.layout.title.text
    assert plots.plot_frontier(audit, by="loss").layout.yaxis.title.text == "loss"


def test_the_range_figure_shows_inner_bounds(audit):
    figure = plots.plot_fairness_range(audit, highlight=[int(audit.table.index[0])])
    bars, ranges = trace_of(figure, "range over the models"), audit.ranges().iloc[::-1]
    np.testing.assert_allclose(np.asarray(bars.base, float), ranges["low"], rtol=1e-5)
    np.testing.assert_allclose(np.add(bars.base, bars.x).astype(float), ranges["high"], rtol=1e-5)
    np.testing.assert_allclose(trace_of(figure, "best model").x, ranges["best"], rtol=1e-5)
    assert len(trace_of(figure, "draw").x) == len(audit.table) * len(ranges)
    assert len(trace_of(figure, "selected draws").x) == len(ranges)
    assert "inner bounds" in figure.layout.title.text
    assert figure.layout.yaxis.ticktext[-1] == "demographic parity"


def test_ratios_and_regressors_have_figures_too(models, regression, rows):
    ratio = fairness_audit(models, rows.X, rows.y, rows.groups, agg="ratio")
    assert "(1 is equal)" in plots.plot_frontier(ratio).layout.xaxis.title.text
    assert "(1 is equal)" in plots.plot_fairness_range(ratio).layout.xaxis.title.text
    errors = fairness_audit(regression, rows.X, rows.target, rows.groups)
    figure = plots.plot_frontier(errors, "mean_absolute_error_difference")
    assert figure.layout.yaxis.title.text == "mean absolute error"
    assert "points" not in figure.layout.title.text
