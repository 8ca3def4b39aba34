"""Write `audit.html`: what all good models of simulated loans agree on."""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rashomon_explorer import audit, load_dataset

data = load_dataset("lending")
X, y, groups = data.X[:4000], data.y[:4000], data.sensitive[:4000]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
found = audit(model, X, y, groups=groups, random_state=0)
found.report("audit.html", title="Audit of a loan model", overwrite=True)
