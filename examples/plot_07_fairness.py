"""
The range of a group gap over the good models
=============================================

Models of the same accuracy treat groups differently. How differently?
"""

# %%
# A hundred models of the set, uniformly and without privacy: a reference for the curator.
from rashomon_explorer import RashomonClassifier, load_dataset

data = load_dataset("lending")
frame, group = data.frame.iloc[:5000], data.sensitive["group"].iloc[:5000]
model = RashomonClassifier(
    schema=data.schema, mechanism="hit_and_run", psi=0.005, n_draws=100, random_state=0
)
model.fit(frame, frame["repaid"])

# %%
from rashomon_explorer.measures import fairness_audit

rows = model.encoder_.transform(frame)
audit = fairness_audit(model.rashomon_set_, rows, frame["repaid"], group)
audit.ranges if hasattr(audit, "ranges") else audit

# %%
from rashomon_explorer.plots import plot_fairness_range, plot_frontier

plot_fairness_range(audit)

# %%
# Is there a good model with a small gap? Each dot is one model.
plot_frontier(audit)
# sphinx_gallery_thumbnail_path = "../examples/pictures/07_fairness.png"
