"""
Importance over the set: does one feature replace another?
==========================================================

The importance of a feature is a property of a model. Over the good models it has a range, and two
features may trade places.
"""

# %%
from rashomon_explorer import RashomonClassifier, load_dataset

data = load_dataset("lending")
frame = data.frame.iloc[:3000]
model = RashomonClassifier(
    schema=data.schema, mechanism="hit_and_run", psi=0.01, n_draws=100, random_state=0
)
model.fit(frame, frame["repaid"])
rows = model.encoder_.transform(frame)

# %%
from rashomon_explorer.measures import importance_cloud
from rashomon_explorer.plots import plot_importance, plot_importance_pair

plot_importance(model.rashomon_set_, rows, frame["repaid"])

# %%
cloud = importance_cloud(model.rashomon_set_, rows, frame["repaid"])
plot_importance_pair(model.rashomon_set_, cloud)
# sphinx_gallery_thumbnail_path = "../examples/pictures/09_importance.png"
