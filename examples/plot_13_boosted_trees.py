"""
Audit boosted trees, by refits
==============================

For models without a convex objective the good models are sampled: the audit refits the model and
reports what these refits show, marked *at least*.
"""

# %%
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10]
model = HistGradientBoostingClassifier(max_iter=30).fit(X, y)

# %%
# Refits with other seeds, other rows, other hyper-parameters and one column less. Those whose loss
# on held-out rows is shown to be within the tolerance are good models.
from rashomon_explorer import audit

found = audit(model, X, y, n_models=30, random_state=0)
found

# %%
found.plot("people")
# sphinx_gallery_thumbnail_path = "../examples/pictures/13_boosted_trees.png"
