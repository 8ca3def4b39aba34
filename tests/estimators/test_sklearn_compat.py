"""scikit-learn 1.6 to the newest: private names in one module, and callbacks without its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

PACKAGE = Path(__file__).resolve().parents[2] / "rashomon_explorer"
COMPAT = PACKAGE / "_utils" / "sklearn_compat.py"

# Third parties are to define the first; the others are IPython's.
_OURS_TOO = {"_parameter_constraints", "_repr_html_", "_repr_mimebundle_"}
_CALLBACKS = {"_skl_callbacks", "_init_callback_context", "_parent_callback_ctx"}
_PRIVATE = {
    name for name in dir(BaseEstimator) if name.startswith("_") and not name.startswith("__")
}


_FORBIDDEN = re.compile(
    r"\bsklearn\.callback|from sklearn import .*\bcallback|(?:from|import) sklearn[\w.]*\._[a-z]"
    r"|from sklearn[\w.]* import (?:\([^)]*|.*)\b_[a-z]"
    rf"|\b(?:{'|'.join(sorted((_PRIVATE | _CALLBACKS) - _OURS_TOO))})\b"
)


def _private_names(source):
    """Private modules and names of scikit-learn, and its callbacks, that a module uses."""
    return _FORBIDDEN.findall(source)


def test_one_module_alone_uses_what_scikit_learn_may_change():
    used = {
        str(path.relative_to(PACKAGE)): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != COMPAT and (names := _private_names(path.read_text(encoding="utf-8")))
    }
    assert used == {}
    assert len(_private_names(COMPAT.read_text(encoding="utf-8"))) > 5
    for source in (
        "from sklearn.callback import with_callbacks",
        "from sklearn.base import BaseEstimator, _fit_context",
        "def f():\n    import sklearn.tree._tree",
        "estimator._validate_params()",
    ):
        assert len(_private_names(source)) == 1
    assert _private_names("from sklearn.base import BaseEstimator\nself._own()") == []


# scikit-learn's own modules may still import what this package finds absent or changed.
_STUB = """
import builtins, types
real = builtins.__import__
def imported(name, globals=None, locals=None, fromlist=(), level=0):
    ours = (globals or {{}}).get("__name__", "").startswith("rashomon_explorer")
    if ours and (name.startswith("sklearn.callback") or "callback" in (fromlist or ())):
        {found}
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = imported
"""
_FOUND = {
    "absent": "raise ModuleNotFoundError(name)",
    "changed": "return types.SimpleNamespace(callback=types.ModuleType('sklearn.callback'))",
}
_FIT = """
import pickle, warnings
from rashomon_explorer import RashomonClassifier, RashomonTreeClassifier
from rashomon_explorer._utils import sklearn_compat
assert sklearn_compat.CallbackContext.__module__ == "rashomon_explorer._utils.sklearn_compat"

class Watcher:
    def __init__(self, stop_at=None):
        self.stop_at, self.sizes, self.begun, self.torn_down = stop_at, [], 0, 0
    def setup(self, estimator, context): assert context.parent is None
    def teardown(self, estimator, context): self.torn_down += 1
    def on_fit_task_begin(self, estimator, context): self.begun += 1
    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        if fitted_estimator is not None:
            self.sizes.append(len(fitted_estimator.predict_each(X)))
        return self.stop_at is not None and len(self.sizes) >= self.stop_at

X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
warnings.simplefilter("ignore")
for kind, settings in [
    (RashomonClassifier, {"mechanism": "exact"}),
    (RashomonTreeClassifier, {"thresholds": 0.0}),
]:
    model = kind(n_draws=4, epsilon=40.0, random_state=0, **settings)
    watcher = Watcher()
    assert model.set_callbacks(watcher).fit(X, y) is model
    assert watcher.sizes == [1, 2, 3, 4] and watcher.torn_down == 1, watcher.sizes
    stopping = Watcher(stop_at=2)
    assert model.set_callbacks(stopping).fit(X, y).rashomon_set_.n_draws == 2
    model.set_callbacks().fit(X, y)
    assert pickle.loads(pickle.dumps(model)).rashomon_set_.n_draws == 4
    assert not any("callback" in name for name in vars(model)), vars(model)
    for wrong in (Watcher, object()):
        try:
            model.set_callbacks(wrong)
        except TypeError as error:
            assert "on_fit_task_end" in str(error)
        else:
            raise AssertionError("a callback without hooks was taken")
print("fitted")
"""


@pytest.mark.law  # a process each; the tests of callbacks run in older versions, too
@pytest.mark.parametrize("found", ["absent", "changed"])
def test_estimators_fit_and_stop_without_scikit_learns_callbacks(found):
    script = _STUB.format(found=_FOUND[found]) + _FIT
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=PACKAGE.parent
    )
    assert done.stdout.strip() == "fitted", done.stderr
