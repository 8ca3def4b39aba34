"""
Draw models of the Rashomon set privately
=========================================

Four hundred near-optimal models at one privacy cost, and what they disagree about.
"""

# %%
# The plan reads no row: it says what ε = 1 guarantees for a table of this shape. The models are
# states of one noisy gradient path, so that more of them cost no more.
from rashomon_explorer import RashomonClassifier, load_dataset

data = load_dataset("lending")  # 50,000 simulated loans
model = RashomonClassifier(schema=data.schema, psi=0.02, epsilon=1.0)
model.plan(*data.frame.shape)

# %%
# The fit spends it once, for all models together.
model.fit(data.frame, data.frame["repaid"])
print(model.guarantee_)

# %%
from rashomon_explorer.plots import plot_map

plot_map(model.rashomon_set_)

# %%
# How many people get different labels from different models of the set?
from rashomon_explorer.measures import ambiguity

inside = model.rashomon_set_.inside()
labels = inside.labels(model.encoder_.transform(data.frame.head(5000)))
print(f"{ambiguity(labels):.0%} of 5,000 people, by {inside.n_draws} models")
# sphinx_gallery_thumbnail_path = "../examples/pictures/03_private_set.png"
