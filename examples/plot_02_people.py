"""
Whom would another good model decide differently?
=================================================

The range of one person's score over all good models says how much the choice of the model decides.
"""

# %%
# A logistic regression of simulated loans.
from sklearn.linear_model import LogisticRegression

from rashomon_explorer import load_dataset

data = load_dataset("lending")
X, y = data.X[:3000], data.y[:3000]
model = LogisticRegression().fit(X, y)

# %%
# The smallest ψ at which somebody's label flips. Within ψ = .002 of the minimum these can flip:
from rashomon_explorer.measures import exact_score_ranges, flip_psi, penalised_problem

problem = penalised_problem(model, X, y)
lower, upper = flip_psi(problem, X[:300])
print(f"{(upper <= 0.002).mean():.0%} of 300 people")

# %%
# The exact range of the probability, for twenty people.
scores = exact_score_ranges(problem, 0.002, X[:20])
scores[["low_outer", "best", "high_outer"]].round(2).head()

# %%
from rashomon_explorer.plots import plot_exact_ranges

plot_exact_ranges(scores)
# sphinx_gallery_thumbnail_path = "../examples/pictures/02_people.png"
