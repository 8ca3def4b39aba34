"""
Is it the set, or the noise?
============================

Private draws disagree for two reasons: the Rashomon set is wide, and the mechanism adds noise.
"""

# %%
# Private draws at a small budget, and a reference without privacy.
import warnings

from rashomon_explorer import RashomonClassifier, load_dataset

data = load_dataset("lending")
same = {"schema": data.schema, "psi": 0.01, "radius": 4.0, "ridge": 0.0, "random_state": 0}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that a small budget guarantees little
    private = RashomonClassifier(mechanism="exact", epsilon=2.0, n_draws=20, **same)
    private.fit(data.frame, data.frame["repaid"])
reference = RashomonClassifier(mechanism="hit_and_run", n_draws=100, **same)
reference.fit(data.frame, data.frame["repaid"])

# %%
from rashomon_explorer.measures import disagreement_decomposition
from rashomon_explorer.plots import plot_decomposition

rows = private.encoder_.transform(data.frame.head(5000))
found = disagreement_decomposition(private.rashomon_set_, rows, reference=reference.rashomon_set_)
plot_decomposition(found)
# sphinx_gallery_thumbnail_path = "../examples/pictures/10_width_and_noise.png"
