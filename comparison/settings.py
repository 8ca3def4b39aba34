"""The settings: plans, offers, draws, measures, ledgers, reports and figures."""

import itertools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from comparison.plain import digest, figure_parts, plain
from rashomon_explorer import DPBilevelSearch
from rashomon_explorer import DPClassifier
from rashomon_explorer import DPRegressor
from rashomon_explorer import Explorer
from rashomon_explorer import Ledger
from rashomon_explorer import PrivateSearch
from rashomon_explorer import RashomonClassifier
from rashomon_explorer import RashomonRegressor
from rashomon_explorer import RashomonTreeClassifier
from rashomon_explorer import load_dataset
from rashomon_explorer import plan
from rashomon_explorer.measures import exact_ambiguity
from rashomon_explorer.measures import exact_coefficient_ranges
from rashomon_explorer.measures import exact_score_ranges
from rashomon_explorer.measures import fairness_audit
from rashomon_explorer.measures import model_reliance
from rashomon_explorer.measures import multiplicity_table
from rashomon_explorer.measures import penalised_problem
from rashomon_explorer.measures import permutation_importance

from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.planning.options import plan_options
from rashomon_explorer.release.catalogue import QUERIES
from rashomon_explorer.release import release
from rashomon_explorer.report import curator_report
from rashomon_explorer.report import release_report
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS

Setting = tuple[str, Callable[[], Any]]


def settings() -> Iterator[Setting]:
    """Every setting with its name; a name may not change."""
    yield from _plans()
    yield from _one_model()
    yield from _draws()
    yield from _others()
    yield from _ledgers()
    yield from _reports()
    yield from _figures()


def _plans() -> Iterator[Setting]:
    losses = ("logistic", "squared", "hinge")
    sizes = ((60, 3), (1_000, 3), (1_000, 30), (50_000, 11))
    for loss, (n, p), psi, epsilon, delta, draws in itertools.product(
        losses, sizes, (0.0, 0.05), (0.2, 2.0), (0.0, 1e-6), (1, 20)
    ):
        asked = {
            "loss": loss, "radius": 4.0, "row_norm": 1.5, "ridge": 0.05,
            "epsilon": epsilon, "delta": delta, "n_draws": draws,
        }  # fmt: skip
        name = f"{loss}-{n}x{p}-psi{psi}-eps{epsilon}-delta{delta}-draws{draws}"
        yield f"options/{name}", lambda n=n, p=p, psi=psi, asked=asked: plain(
            plan_options(n, p, psi, **asked)
        )
        yield f"plan/{name}", lambda n=n, p=p, psi=psi, asked=asked: plain(plan(n, p, psi, **asked))


def _one_model() -> Iterator[Setting]:
    for name, loss, n, epsilon, delta, ledger in itertools.product(
        MECHANISMS, ("logistic", "squared", "absolute"), (200, 20_000), (0.5, 4.0), (0.0, 1e-6),
        (False, True),
    ):  # fmt: skip
        request = Request(
            n=n, p=8, psi=0.0, loss=loss, radius=4.0, row_norm=1.5, ridge=0.0,
            epsilon=epsilon, delta=delta, n_draws=1, ledger=ledger,
        )  # fmt: skip
        key = f"one/{name}-{loss}-{n}-eps{epsilon}-delta{delta}-ledger{ledger}"
        yield key, lambda name=name, request=request: plain(MECHANISMS[name].offer(request).plan)


def rows(n: int = 240) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """A simulated table: features, labels, numbers, groups."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, (n, 3)), columns=["age", "debt", "luck"])
    score = 4 * X["age"] - 3 * X["debt"] + rng.normal(scale=0.5, size=n)
    groups = np.where(X["luck"] > 0, "b", "a")
    return X, (score > 0).astype(int).to_numpy(), score.clip(-1, 1).to_numpy(), groups


def _draws() -> Iterator[Setting]:
    X, y, numbers, _ = rows()
    for mechanism in MECHANISMS:
        for delta in (0.0, 1e-5):
            for epsilon in (8.0, 40.0):
                asked = {
                    "mechanism": mechanism, "epsilon": epsilon, "delta": delta, "n_draws": 4,
                    "psi": 0.05, "radius": 4.0, "ridge": 0.02, "random_state": 0,
                }  # fmt: skip
                key = f"draws/{mechanism}-eps{epsilon}-delta{delta}"
                yield f"{key}-classes", lambda asked=asked: _fitted(
                    RashomonClassifier(classes=[0, 1], **asked), X, y
                )
                yield f"{key}-numbers", lambda asked=asked: _fitted(
                    RashomonRegressor(target_bounds=(-1, 1), **asked), X, numbers
                )
    for method in (name for name, kind in MECHANISMS.items() if kind.traits.one_model):
        for delta in (0.0, 1e-5):
            asked = {"mechanism": method, "epsilon": 4.0, "delta": delta, "random_state": 0}
            yield f"model/{method}-delta{delta}-classes", lambda asked=asked: _fitted(
                DPClassifier(classes=[0, 1], **asked), X, y
            )
            yield f"model/{method}-delta{delta}-numbers", lambda asked=asked: _fitted(
                DPRegressor(target_bounds=(-1, 1), **asked), X, numbers
            )


def _fitted(estimator: Any, X: Any, y: Any) -> Any:
    fitted = estimator.fit(X, y)
    models = getattr(fitted, "rashomon_set_", None)
    drawn = models.coef if models is not None and hasattr(models, "coef") else None
    answers = fitted.predict_proba(X) if hasattr(fitted, "predict_proba") else fitted.predict(X)
    guarantee = getattr(fitted, "guarantee_", None)
    return [plain(drawn), plain(np.asarray(answers)), plain(guarantee)]


def _others() -> Iterator[Setting]:
    X, y, _, groups = rows()
    table = X > 0
    for draws in (1, 5):
        for psi in (0.0, 0.05):
            yield f"trees/draws{draws}-psi{psi}", lambda draws=draws, psi=psi: _fitted(
                RashomonTreeClassifier(
                    epsilon=4.0, n_draws=draws, psi=psi, classes=[0, 1], random_state=0
                ),
                table, y,
            )  # fmt: skip
    yield "search/two", lambda: _fitted(
        PrivateSearch(
            DPClassifier(classes=[0, 1]), {"ridge": [0.01, 0.1]}, epsilon=4.0,
            random_state=0,
        ),
        X, y,
    )  # fmt: skip
    yield "bilevel/default", lambda: _fitted(
        DPBilevelSearch(epsilon=8.0, bounds=(0.001, 1.0), classes=[0, 1], random_state=0), X, y
    )
    yield "exact/ranges", lambda: _exact(X, y)

    def measured(function: Callable[..., Any], *more: Any, **named: Any) -> Callable[[], Any]:
        return lambda: plain(function(_set(), X, *more, **named))

    yield "measure/multiplicity", measured(multiplicity_table)
    yield "measure/permutation", measured(permutation_importance, y, random_state=0)
    yield "measure/reliance", measured(model_reliance, y)
    yield "measure/fairness", lambda: plain(fairness_audit(_set(), X, y, groups).frame(0))


def _set() -> Any:
    X, y, _, _ = rows()
    fit = RashomonClassifier(
        mechanism="exact", epsilon=20.0, n_draws=12, psi=0.05, radius=4.0, ridge=0.0, row_norm=1.0,
        classes=[0, 1], random_state=0,
    )  # fmt: skip
    return fit.fit(X, y).rashomon_set_


def _exact(X: pd.DataFrame, y: np.ndarray) -> Any:
    from sklearn.linear_model import LogisticRegression

    problem = penalised_problem(LogisticRegression(tol=1e-10, max_iter=2000).fit(X, y), X, y)
    return [
        plain(exact_ambiguity(problem, 0.02, X)),
        plain(exact_coefficient_ranges(problem, 0.02)),
        plain(exact_score_ranges(problem, 0.02, X.iloc[:5])),
    ]


def _ledgers() -> Iterator[Setting]:
    X, y, _, groups = rows()

    def charged(delta: float) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.ledger"
            Ledger.create(path, epsilon=30.0, delta=delta).close()
            fit = RashomonClassifier(
                mechanism="exact", epsilon=8.0, n_draws=4, psi=0.05, classes=[0, 1], ledger=path
            ).fit(X, y)
            DPClassifier(epsilon=1.0, delta=delta, classes=[0, 1], ledger=path).fit(X, y)
            with Ledger(path) as ledger:
                release(
                    fit.rashomon_set_, X, y, queries=["losses"], ledger=ledger, epsilon=1.0
                )
                entries = [plain(entry.guarantee) for entry in ledger.entries()]
                return [entries, plain(ledger.spent()), plain(ledger.remaining()), plain(ledger.order)]

    for delta in (0.0, 1e-5):
        yield f"ledger/delta{delta}", lambda delta=delta: charged(delta)
    for name in QUERIES:
        for noise in ({"epsilon": 2.0}, {"rho": 0.5}):
            yield f"release/{name}-{next(iter(noise))}", lambda name=name, noise=noise: plain(
                release(
                    _set(), X, y, groups, categories=("a", "b"), queries=[name], ledger=None,
                    random_state=0, **noise,
                )
            )


def _reports() -> Iterator[Setting]:
    X, y, _, groups = rows()

    yield "report/curator", lambda: _report(curator_report, _set(), X, y, groups=groups)
    yield "report/release", lambda: _report(release_report, _set().release())


def _report(function: Callable[..., Any], models: Any, *more: Any, **named: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        function(models, path, *more, **named)
        text = path.read_text(encoding="utf-8")
    return {"text": digest(text.encode()), "length": len(text) // 1000}


def _figures() -> Iterator[Setting]:
    made: dict[str, Any] = {}

    def page() -> Any:
        if not made:
            import time

            made["home"] = tempfile.TemporaryDirectory()
            X, y, _, _ = rows()
            shown = Explorer(data=load_dataset("breast_cancer"), home=Path(made["home"].name))
            shown.state.random_state = 0
            shown.state.epsilon, shown.state.n_draws = 4.0, 5
            shown.draw()
            for _ in range(600):
                if not shown.drawing.pump():
                    break
                time.sleep(0.05)
            made["page"] = shown
        return made["page"]

    from rashomon_explorer.plots.figures import FIGURES

    for card in (spec for spec in FIGURES.values() if spec.name != "exact"):
        yield f"figure/{card.name}", lambda card=card: figure_parts(page().cards[card.name].view.figure)


def record() -> dict[str, Any]:
    """Return what each setting gives, or the kind of error that it ends in."""
    found = {}
    for name, setting in settings():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found[name] = setting()
            except Exception as error:
                found[name] = {"error": type(error).__name__, "text": str(error)}
    return found

