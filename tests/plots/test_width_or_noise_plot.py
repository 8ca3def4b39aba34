"""The figures of width and noise: what they show, and whose they are."""

from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import plots
from rashomon_explorer.measures import disagreement_decomposition, noise_by_budget
from rashomon_explorer.plots import decomposition as figures
from rashomon_explorer.privacy.notions import no_guarantee

LABELS = [[0, place % 5 == 0] for place in range(40)] + [[0, 1], [1, 0]] * 10
MASK = [True] * 40 + [False] * 20


def _trace(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def test_bars_stand_on_each_other_with_their_intervals():
    found = disagreement_decomposition(LABELS, inside=MASK, groups=["a", "b"])
    figure = plots.plot_decomposition(found)
    own, noise = _trace(figure, "the set"), _trace(figure, "the mechanism")
    assert list(figure.layout.yaxis.ticktext) == ["b (1)", "a (1)", "all rows"]
    np.testing.assert_allclose(np.asarray(noise.base, dtype=float), own.x)
    assert own.x[-1] == pytest.approx(found.width.value)
    assert noise.x[-1] == pytest.approx(found.noise.value)
    assert own.x[1] + noise.x[1] == pytest.approx(found.groups.loc["a", "total"])
    own, noise = (_trace(figure, f"interval of the {name}") for name in ("width", "noise"))
    assert noise.x[-1] == pytest.approx(found.total.value)
    assert noise.error_x.array[-1] == pytest.approx(found.noise.high - found.noise.value)
    assert own.error_x.arrayminus[-1] == pytest.approx(found.width.value - found.width.low)
    assert "54% [32, 75] is the mechanism's · 33% of 60 draws missed" in figure.layout.title.text
    assert figure.layout.meta["view"] == "none"  # of labels alone nobody knows a guarantee


def test_it_is_the_curators_and_takes_nothing_else(models, rows):
    found = disagreement_decomposition(models, rows.X)
    assert plots.plot_decomposition(found).layout.meta["view"] == "curator"
    for other in (models, models.release()):
        with pytest.raises(
            TypeError,
            match=r"needs the result of measures.disagreement_decomposition\(models, X\), got",
        ):
            plots.plot_decomposition(other)
    unprotected = replace(models, guarantee=no_guarantee("bounds were computed"))
    found = disagreement_decomposition(unprotected, rows.X)
    assert plots.plot_decomposition(found).layout.meta["view"] == "none"


def test_few_misses_and_agreement_are_drawn_without_infinite_whiskers():
    scores = np.arange(40.0)[:, None] % 3
    unknown = disagreement_decomposition(scores, measure="score_variance", inside=[True] * 40)
    assert unknown.noise.high == np.inf
    figure = plots.plot_decomposition(unknown)
    assert _trace(figure, "interval of the noise").error_x.array[0] == 0
    assert "∞" in _trace(figure, "the mechanism").hovertext[0]
    agreed = disagreement_decomposition([[1, 0]] * 20, inside=[True] * 20)
    assert "all draws agree" in plots.plot_decomposition(agreed).layout.title.text


def test_many_groups_are_cut_in_words_and_names_are_no_markup(monkeypatch):
    monkeypatch.setattr(figures, "MOST_GROUPS", 1)
    found = disagreement_decomposition(LABELS, inside=MASK, groups=["<b>a</b>", "c"])
    figure = plots.plot_decomposition(found)
    assert "1 largest of 2 groups" in figure.layout.title.text
    assert not any("<b>" in name for name in figure.layout.yaxis.ticktext)


def test_a_larger_price_is_drawn_down_to_the_width(models, rows):
    table = noise_by_budget(models, rows.X, [20.0, 80.0, np.inf])
    figure = plots.plot_noise_by_budget(table)
    assert list(_trace(figure, "the draws").x) == [20.0, 80.0]
    np.testing.assert_allclose(_trace(figure, "the set").y, table["width"].iloc[:2])
    assert figure.layout.meta["view"] == "curator"
    assert figure.layout.yaxis.title.text == "disagreement of two draws"
    with pytest.raises(ValueError, match=r"lacks \['width'\]"):
        plots.plot_noise_by_budget(table.drop(columns="width"))
    with pytest.raises(ValueError, match="at least one finite privacy cost"):
        plots.plot_noise_by_budget(table.iloc[2:])
