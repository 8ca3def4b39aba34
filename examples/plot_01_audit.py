"""
Audit a fitted model
====================

Which coefficients and decisions do all equally good models share, and which are the model's own?
"""

# %%
# A fitted scikit-learn pipeline: breast cancer, ten columns.
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)

# %%
# All models whose loss is at most 1 % above the best one, exactly:
from rashomon_explorer import audit

found = audit(model, X, y, tolerance="1%")
found

# %%
# The lowest and the highest value of each coefficient, in the units of the table. Where a range
# contains 0, good models disagree on the sign.
found.coefficients.round(3)

# %%
found.plot("coefficients")

# %%
# The people whose diagnosis depends on the choice of the model, and the tolerance at which it
# flips:
found.flips[found.flips.flips].round(5)
# sphinx_gallery_thumbnail_path = "../examples/pictures/01_audit.png"
