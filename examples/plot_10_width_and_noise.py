"""
Is it the set, or the noise?
============================

Private draws disagree for two reasons: the Rashomon set is wide, and the mechanism adds noise.
"""

# %%
# Private draws at a small budget: some are outside the set.
import warnings

from rashomon_explorer import RashomonClassifier, load_dataset

data = load_dataset("lending")
same = {"schema": data.schema, "psi": 0.01, "radius": 4.0, "ridge": 0.0, "random_state": 0}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that a small budget guarantees little
    private = RashomonClassifier(mechanism="exact", epsilon=2.0, n_draws=20, **same)
    private.fit(data.frame, data.frame["repaid"])

# %%
from rashomon_explorer.measures import disagreement_decomposition
from rashomon_explorer.plots import plot_decomposition

rows = private.encoder_.transform(data.frame.head(5000))
split = disagreement_decomposition(private.rashomon_set_, rows)
plot_decomposition(split)
# sphinx_gallery_thumbnail_path = "../examples/pictures/10_width_and_noise.png"
