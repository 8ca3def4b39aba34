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
# Refits with other seeds, other rows, other hyper-parameters or a constant column, each fitted once
# without every quarter of the rows. Those whose loss on rows that they did not see is within the
# tolerance are good models, and they label the people that they did not see.
from rashomon_explorer import audit

found = audit(model, X, y, n_models=30, random_state=0)
found

# %%
found.plot("people")
# sphinx_gallery_thumbnail_path = "../examples/pictures/13_boosted_trees.png"
