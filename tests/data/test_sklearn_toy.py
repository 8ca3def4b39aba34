import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets

from rashomon_explorer.data import load_dataset


@pytest.mark.parametrize(
    ("name", "function", "arguments"),
    [
        ("breast_cancer", sklearn_datasets.load_breast_cancer, {}),
        ("wine", sklearn_datasets.load_wine, {}),
        ("digits", sklearn_datasets.load_digits, {}),
        ("diabetes", sklearn_datasets.load_diabetes, {"scaled": False}),
    ],
)
def test_rows_and_labels_are_scikit_learn_s_own(name, function, arguments):
    data = load_dataset(name)
    X, y = function(return_X_y=True, **arguments)
    np.testing.assert_array_equal(data.X.to_numpy(), X)
    np.testing.assert_array_equal(data.y.to_numpy(), y)


def test_the_positive_class_can_be_turned_round():
    benign = load_dataset("breast_cancer")
    malignant = load_dataset("breast_cancer", positive="malignant")
    assert benign.classes == ["malignant", "benign"]
    assert malignant.classes == ["benign", "malignant"]
    assert (benign.y + malignant.y == 1).all()


@pytest.mark.parametrize(("name", "positive"), [("wine", "class_1"), ("digits", 8)])
def test_one_class_against_the_rest(name, positive):
    every, one = load_dataset(name), load_dataset(name, positive=positive)
    assert one.classes == [f"not {positive}", positive]
    assert f"1 = {positive}" in one.DESCR
    assert ((every.y == every.classes.index(positive)) == (one.y == 1)).all()
