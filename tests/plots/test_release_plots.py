"""Figures that may leave the building are made of the draws alone."""

import json
from dataclasses import replace

import pytest

from rashomon_explorer import plots


@pytest.mark.parametrize("make", [plots.plot_released_coefficients, plots.plot_released_spread])
def test_release_figures_carry_their_price_and_refuse_a_curators_set(make, models):
    figure = make(models.release())
    assert figure.layout.meta["view"] == "release"
    assert figure.layout.shapes[0].label.text == "released: paid with ε = 20 at δ = 1e-6"
    with pytest.raises(TypeError, match=r"needs a ReleasedSet, got RashomonSet; call .release"):
        make(models)


@pytest.mark.parametrize("make", [plots.plot_released_coefficients, plots.plot_released_spread])
def test_release_figures_do_not_change_with_what_only_the_curator_knows(make, models):
    changed = replace(models, losses=models.losses + 1.0, clipped_share=0.9, acceptance=0.5)
    assert json.loads(make(changed.release()).to_json()) == json.loads(
        make(models.release()).to_json()
    )
    # Negative control: the curator's figure does change.
    assert json.loads(plots.plot_coefficients(changed).to_json()) != json.loads(
        plots.plot_coefficients(models).to_json()
    )
