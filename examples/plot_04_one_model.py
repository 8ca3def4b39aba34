"""
Train one private model
=======================

One classifier with differential privacy, and how its accuracy depends on ε.
"""

# %%
# Before a row is read, the plan states the guaranteed excess loss, and what twelve simulated tables
# of the same shape suggest.
from rashomon_explorer import DPClassifier, load_dataset

data = load_dataset("lending")
model = DPClassifier(epsilon=1.0, row_norm=1.5, classes=[0, 1])
planned = model.plan(*data.X.shape)
planned

# %%
# The guaranteed excess loss by privacy cost:
from rashomon_explorer.plots import plot_costs

plot_costs(planned, draws=(1,), clicked=False)

# %%
import pandas as pd
from sklearn.model_selection import train_test_split

X, X_new, y, y_new = train_test_split(data.X, data.y, random_state=0)
accuracy = {
    epsilon: model.set_params(epsilon=epsilon).fit(X, y).score(X_new, y_new)
    for epsilon in (0.1, 0.3, 1.0, 3.0)
}
pd.Series(accuracy, name="accuracy on new rows").rename_axis("ε").round(3)

# %%
# What may be said about the fitted model:
print(model.guarantee_)
# sphinx_gallery_thumbnail_path = "../examples/pictures/04_one_model.png"
