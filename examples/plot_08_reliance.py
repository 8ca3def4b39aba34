"""
Is there a good model without this feature?
===========================================

Model class reliance: the least and the most that any good model depends on a feature.
"""

# %%
from rashomon_explorer import RashomonClassifier, load_dataset

data = load_dataset("lending")
frame = data.frame.iloc[:3000]
model = RashomonClassifier(
    schema=data.schema, mechanism="hit_and_run", psi=0.01, n_draws=100, random_state=0
)
model.fit(frame, frame["repaid"])

# %%
# A range that starts at 1 belongs to a feature that some good model does not need.
from rashomon_explorer.measures import model_class_reliance

reliance = model_class_reliance(model, frame, frame["repaid"])
reliance.round(3)

# %%
from rashomon_explorer.plots import plot_class_reliance

plot_class_reliance(reliance)
# sphinx_gallery_thumbnail_path = "../examples/pictures/08_reliance.png"
