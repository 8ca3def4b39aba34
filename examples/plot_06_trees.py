"""
Count every good sparse tree
============================

Sparse trees can be counted: not a sample of the Rashomon set, but all of it.
"""

# %%
# Thresholds are public; they are not read off the rows.
from rashomon_explorer import RashomonTreeClassifier, load_dataset

data = load_dataset("lending")
table = data.frame.iloc[:5000]
X = table[["late_payments_share", "income_index", "savings_index", "debt_to_income"]]
y = table["repaid"]
settings = {"thresholds": [-0.15, 0.0, 0.15], "classes": ["no", "yes"], "max_leaves": 4}
trees = RashomonTreeClassifier(psi=0.01, epsilon=1.0, delta=0.0, n_draws=1, **settings)

# %%
# For the curator: the number of trees within ψ of the best one, and the best one.
counted = trees.counted(X, y)
print(f"{counted.size(trees.psi):,} of {counted.trees.size:,} trees are within ψ")
print(counted.as_set([counted.best()]).text(0))

# %%
# Which questions do the good trees ask? (1,000 of them, drawn uniformly.)
from rashomon_explorer.plots import plot_tree_use

plot_tree_use(counted.draw(1000, trees.psi, random_state=0))

# %%
# One tree that may be published, with ε = 1:
released = trees.set_params(random_state=0).fit(X, y).rashomon_set_.release()
print(released.text(0))
# sphinx_gallery_thumbnail_path = "../examples/pictures/06_trees.png"
