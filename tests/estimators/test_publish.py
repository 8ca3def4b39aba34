"""One private model, from a newcomer's CSV file to predictions from another file."""

import pickle

import numpy as np
import pandas as pd
import pytest

import rashomon_explorer as rx
from rashomon_explorer.data import Numeric
from rashomon_explorer.exceptions import CuratorOnlyError, PrivacyLeakWarning
from rashomon_explorer.measures.inputs import fitted_set
from rashomon_explorer.report import report
from rashomon_explorer.sets import ReleasedSet, ReleasedTrees

N = 3_000


@pytest.fixture(scope="module")
def loans():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, N),
            "home": rng.choice(["own", "rent", "none"], N),
            "sex": rng.choice(["feminine", "masculine"], N),
        }
    )
    good = frame["age"] / 90 + 0.5 * (frame["home"] == "own") + rng.normal(0, 0.3, N)
    return frame.assign(paid=np.where(good > 0.9, "yes", "no"))


@pytest.fixture(scope="module")
def schema(loans):
    proposed = rx.propose_schema(loans, target="paid", sensitive=["sex"])
    return proposed.confirm(*proposed.unconfirmed)


@pytest.mark.parametrize(
    ("family", "kind"),
    [("linear", ReleasedSet), pytest.param("trees", ReleasedTrees, marks=pytest.mark.law)],
)
def test_a_newcomer_publishes_one_model(loans, schema, family, kind, tmp_path):
    loans.to_csv(tmp_path / "loans.csv", index=False)
    schema.save(tmp_path / "loans.toml")
    ledger = rx.Ledger.create(tmp_path / "loans.ledger", epsilon=2.0, delta=1e-6)
    table = pd.read_csv(tmp_path / "loans.csv")
    model = rx.DPClassifier(family=family, schema=tmp_path / "loans.toml", ledger=ledger)
    released = model.fit(table, table["paid"]).release()
    assert type(released) is kind and released.n_draws == 1
    assert released.guarantee == model.guarantee_ and released.schema is not None
    released.save(tmp_path / "model.npz")
    read = kind.load(tmp_path / "model.npz")
    assert read.predict(table.drop(columns="paid")).tolist() == model.predict(table).tolist()
    assert report(model, tmp_path / "model.html", interactive=False).exists()
    assert fitted_set(model) is released
    # The columns that nobody confirmed, and the ledger, stay here.
    content = (tmp_path / "model.npz").read_bytes()
    assert b"loans.ledger" not in content and b"feminine" not in content


def test_the_release_is_that_of_a_set_of_one_model(loans, schema):
    settings = {"schema": schema, "random_state": 0, "mechanism": "objective_perturbation"}
    one = rx.DPClassifier(**settings).fit(loans, loans["paid"]).release()
    many = rx.RashomonClassifier(n_draws=1, psi=0.0, **settings).fit(loans, loans["paid"])
    other = many.rashomon_set_.release()
    assert np.array_equal(one.coef, other.coef) and one.schema == other.schema
    assert np.array_equal(one.predict(loans), other.predict(loans))


def test_a_regression_is_released_in_the_units_of_its_target(loans):
    columns = [Numeric("age", (18, 90)), Numeric("x", (0, 1)), Numeric("y", (0, 50), role="target")]
    rng = np.random.default_rng(1)
    table = loans[["age"]].assign(x=rng.uniform(size=N))
    table["y"] = table["age"] / 3 + 10 * table["x"]
    model = rx.DPRegressor(epsilon=5.0, schema=rx.TableSchema(columns)).fit(table, table["y"])
    released = model.release()
    assert np.allclose(released.predict(table), model.predict(table))
    assert np.corrcoef(released.predict(table), table["y"])[0, 1] > 0.9


def test_what_has_no_guarantee_is_not_released_and_what_a_fitted_model_holds(loans, schema):
    leaky = rx.propose_schema(loans, target="paid", sensitive=["sex"])
    with pytest.warns(PrivacyLeakWarning):
        model = rx.DPClassifier(schema=leaky).fit(loans, loans["paid"])
    with pytest.raises(CuratorOnlyError, match="this model cannot be released"):
        model.release()
    model = rx.DPClassifier(schema=schema, random_state=7).fit(loans, loans["paid"])
    arrays = [value for value in vars(model).values() if isinstance(value, np.ndarray)]
    assert max(map(len, arrays)) < 20  # no row
    assert not {"minimum", "losses", "rashomon_set_"} & set(vars(model))
    content = pickle.dumps(model)
    assert b"feminine" in content and len(content) < 20_000  # the whole schema: publish the release
    assert b"feminine" not in pickle.dumps(model.release())
