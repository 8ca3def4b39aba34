"""What a band says fits its figure in a small window, and is said as everywhere else."""

import pytest

from rashomon_explorer import RashomonClassifier, RashomonSet, plots
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.plots.text import weak_guarantee_note
from rashomon_explorer.plots.theme import empty_figure

_MOST_LETTERS = 42  # of the band's size, in the narrowest figure of a window of 1280 pixels


@pytest.fixture
def weak() -> RashomonSet:
    X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 10, [1, 1, 0, 0] * 10
    with suppress_weak_warnings():
        drawn = RashomonClassifier(n_draws=20, mechanism="exact", random_state=0).fit(X, y)
        return drawn.rashomon_set_


def test_a_weak_promise_has_a_line_of_its_own_that_fits_a_narrow_figure(weak: RashomonSet) -> None:
    figure = plots.plot_losses(weak)
    band = next(shape for shape in figure.layout.shapes if shape.name == "band")
    lines = band.label.text.split("<br>")
    assert lines[0] == "curator view: not private"
    assert lines[1].startswith("guaranteed hit rate ≥ 0%")
    assert max(map(len, lines)) <= _MOST_LETTERS
    assert band.y1 - band.y0 >= 15 * len(lines)


def test_a_band_writes_a_hit_rate_as_the_page_does() -> None:
    with suppress_weak_warnings():
        planned = plan(569, 31, 0.02, radius=4.0, row_norm=2**0.5, epsilon=4.0, n_draws=20)
    assert 0 < planned.hit_rate_bound < 1e-40
    assert weak_guarantee_note(planned) == "guaranteed hit rate ≥ 0%: weak guarantee"


def test_words_of_an_empty_figure_fit_a_phone():
    told = "Every set that was paid for from this table is kept.<br>Press <b>Draw</b> to see one."
    lines = empty_figure("Sets", told).layout.annotations[0].text.split("<br>")
    assert lines == [
        "Every set that was paid for",
        "from this table is kept.",
        "Press <b>Draw</b> to see one.",
    ]
