"""
Which coefficients do the data settle?
======================================

A fitted model gives one number a feature. Other models that are as good give other numbers.
"""

# sphinx_gallery_thumbnail_path = "../examples/pictures/01_coefficients.png"

# %%
# A fitted scikit-learn model of breast cancer, on ten columns.
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X.iloc[:, :10])
model = LogisticRegression().fit(X, y)

# %%
# All models whose objective is at most 2 % above the minimum, exactly: the lowest and the highest
# value of each coefficient. A range that contains 0 leaves the sign open.
from rashomon_explorer.measures import (
    exact_ambiguity,
    exact_coefficient_ranges,
    penalised_problem,
    relative_psi,
)

problem = penalised_problem(model, X, y)
psi = relative_psi(problem, 0.02)
ranges = exact_coefficient_ranges(problem, psi)
ranges[["low_outer", "best", "high_outer"]].round(2)

# %%
from rashomon_explorer.plots import plot_exact_ranges

plot_exact_ranges(ranges)

# %%
# The share of people whom some of these models would diagnose otherwise.
exact_ambiguity(problem, psi, X)
