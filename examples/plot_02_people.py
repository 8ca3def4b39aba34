"""
Whom would another good model decide differently?
=================================================

The range of one person's score over all good models says how much the choice of the model decides.
"""

# %%
# A logistic regression of 1,000 credits of a bank in southern Germany.
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rashomon_explorer import audit, load_dataset

data = load_dataset("south_german_credit")
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1)).fit(data.X, data.y)

# %%
# Whose label flips within the models that a likelihood ratio test keeps? ``psi_low``
# and ``psi_high`` enclose the excess loss at which it does.
found = audit(model, data.X, data.y, groups=data.sensitive["age_group"])
found.flips.head().round(5)

# %%
# The young bear more of it:
found.groups.round(2)

# %%
# The exact range of everybody's probability of being a good risk:
found.plot("people")

# %%
# And of one table in numbers:
found.scores(data.X[:20]).head().round(2)
# sphinx_gallery_thumbnail_path = "../examples/pictures/02_people.png"
