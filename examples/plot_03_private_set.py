"""
Draw models of the Rashomon set privately
=========================================

Ten near-optimal models at one privacy cost, and what they disagree about.
"""

# %%
# The plan reads no row: it says what ε = 4 guarantees for a table of this shape.
from rashomon_explorer import RashomonClassifier, load_dataset

data = load_dataset("lending")  # 50,000 simulated loans
settings = {"psi": 0.02, "radius": 4.0, "ridge": 0.0, "n_draws": 10, "mechanism": "exact"}
model = RashomonClassifier(schema=data.schema, epsilon=4.0, **settings)
model.plan(*data.frame.shape)

# %%
# The fit spends ε = 4 for all ten models together.
model.fit(data.frame, data.frame["repaid"])
print(model.guarantee_)

# %%
from rashomon_explorer.plots import plot_coefficients

plot_coefficients(model.rashomon_set_)

# %%
# How many people get different labels from different models of the set?
from rashomon_explorer.measures import ambiguity

inside = model.rashomon_set_.inside()
labels = inside.labels(model.encoder_.transform(data.frame.head(5000)))
print(f"{ambiguity(labels):.0%} of 5,000 people, by {inside.n_draws} models")
# sphinx_gallery_thumbnail_path = "../examples/pictures/03_private_set.png"
