"""
The range of a group gap over the good models
=============================================

Models of the same accuracy treat groups differently. How differently?
"""

# %%
# Credits of a bank in southern Germany: people of at most 25 years, and older people.
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rashomon_explorer import audit, load_dataset

data = load_dataset("south_german_credit")
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1)).fit(data.X, data.y)
age = data.sensitive["age_group"]
found = audit(model, data.X, data.y, groups=age, random_state=0)

# %%
# The exact range of the gap in the mean score, in log-odds. No good model closes it:
found.gaps.round(2)

# %%
# Gaps of decisions, over 200 models drawn uniformly from the set. The results are for the curator.
found.plot("gaps")

# %%
# Is there a good model with a small gap? Each dot is one model.
found.plot("frontier")
# sphinx_gallery_thumbnail_path = "../examples/pictures/07_fairness.png"
