"""A set with everything a report can show, and what reads a report back."""

import base64
import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier, RashomonTreeClassifier
from rashomon_explorer.measures import declared_problem
from rashomon_explorer.plots.text import number
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.report import report

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Reader(HTMLParser):
    """Elements with their attributes, and whether every one is closed."""

    def __init__(self, text):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.balanced = True
        self.feed(text)
        self.close()
        self.balanced = self.balanced and not self.open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.balanced = self.balanced and bool(self.open) and self.open.pop() == tag

    def all(self, tag):
        return [attrs for name, attrs in self.found if name == tag]


def figures_of(text):
    pattern = r'<script type="application/json" data-figure="[^"]*">(.*?)</script>'
    return [json.loads(found) for found in re.findall(pattern, text, re.DOTALL)]


def numbers_of(value):
    """Every number of a figure, those in Plotly's packed arrays too."""
    if isinstance(value, dict):
        if "bdata" in value:
            packed = base64.b64decode(value["bdata"])
            return np.frombuffer(packed, dtype=value["dtype"]).astype(float).tolist()
        return [number for part in value.values() for number in numbers_of(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers_of(part)]
    if isinstance(value, str):
        return [float(found) for found in re.findall(r"\d+\.\d+(?:e-?\d+)?", value)]
    return [float(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def traces_of(text, values, least_digits=4):
    """Values that stand in a report in any form in which one is written."""
    written = set(re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", words_of(text)))
    shown = np.array([n for figure in figures_of(text) for n in numbers_of(figure)])
    found, near = [], 10.0 ** -max(6, least_digits)
    for value in map(abs, values):
        forms = {repr(value), *(number(value, digits) for digits in range(least_digits, 10))}
        if forms & written or np.any(np.abs(np.abs(shown) - value) <= near * value):
            found.append(value)
    return found


def words_of(text):
    """What a reader sees, without scripts and styles."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", bare))


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, (240, 3)), columns=["age", "debt", "income"])
    y = (X["age"] + 0.5 * X["debt"] + 0.25 * rng.normal(size=240) > 0).to_numpy().astype(int)
    return X, y, pd.Series(np.where(rng.random(240) < 0.4, "north", "south"), name="region")


@pytest.fixture(scope="session")
def fitted(rows):
    X, y, _ = rows
    settings = {"psi": 0.05, "epsilon": 120.0, "n_draws": 12, "radius": 4.0, "ridge": 0.01}
    return RashomonClassifier(**settings, mechanism="exact", random_state=0).fit(X, y)


@pytest.fixture(scope="session")
def models(fitted):
    found = fitted.rashomon_set_
    assert 2 <= found.inside().n_draws < found.n_draws
    return found


@pytest.fixture(scope="session")
def problem(fitted, rows):
    return declared_problem(fitted, *rows[:2])


@pytest.fixture(scope="session")
def curator_text(models, rows, problem, tmp_path_factory):
    X, y, groups = rows
    place = tmp_path_factory.mktemp("reports") / "card.html"
    return read(report(models, place, X, y, groups=groups, problem=problem))


@pytest.fixture(scope="session")
def release_text(models, fitted, rows, tmp_path_factory):
    place = tmp_path_factory.mktemp("releases") / "card.html"
    constants = fitted.constants(*rows[0].shape)
    return read(report(models.release(), place, constants=constants, domain=Ball(fitted.radius)))


TREES = {
    **{"psi": 0.1, "epsilon": 4.0, "n_draws": 6, "max_leaves": 3, "hit_rate": 0.5},
    **{"thresholds": {"age": [30.5, 40.5]}, "classes": [0, 1]},
}


@pytest.fixture(scope="session")
def tree_rows():
    rng, n = np.random.default_rng(0), 601
    X = pd.DataFrame({"age": rng.uniform(18, 80, n), "owns": rng.integers(0, 2, n)})
    y = np.where(rng.random(n) < 0.85, (X["age"] > 40) & (X["owns"] == 1), rng.random(n) < 0.5)
    return X, y.astype(int)


@pytest.fixture(scope="session")
def tree_models(tree_rows):
    return RashomonTreeClassifier(**TREES, random_state=0).fit(*tree_rows).rashomon_set_


@pytest.fixture(scope="session")
def tree_release(tree_models, tmp_path_factory):
    return read(report(tree_models.release(), tmp_path_factory.mktemp("releases") / "card.html"))


@pytest.fixture(scope="session")
def tree_curator(tree_models, tree_rows, tmp_path_factory):
    groups = pd.Series(np.where(tree_rows[0]["owns"] == 1, "o", "r"), name="home")
    place = tmp_path_factory.mktemp("reports") / "card.html"
    return read(report(tree_models, place, *tree_rows, groups=groups))


def read(path):
    return path.read_text(encoding="utf-8")
