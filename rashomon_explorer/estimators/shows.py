"""How a fitted estimator shows itself: with what its draws cost and promise."""

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from rashomon_explorer.planning.weakness import has_hit_rate
from rashomon_explorer.privacy.label import asked_for, numbers_of
from rashomon_explorer.rounding import hit_rate_text
from rashomon_explorer.sklearn_compat import register_repr

if TYPE_CHECKING:
    from rashomon_explorer.privacy import Guarantee


class ShowsFit(BaseEstimator):
    """Adds a line to an estimator's repr and diagram once it is fitted.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 2_500, [1, 1, 0, 0] * 2_500
    >>> RashomonClassifier(n_draws=5).fit(X, y)
    RashomonClassifier(n_draws=5)
    # fitted: 5 draws on 10,000 rows, hit rate ≥ 91%, ε = 1 at δ = 1e-6
    """

    if TYPE_CHECKING:
        guarantee_: Guarantee
        plan_: Any
        rashomon_set_: Any

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Like scikit-learn's, and a line more once fitted."""
        settings = super().__repr__(N_CHAR_MAX)
        fitted = self._fitted_line()
        return f"{settings}\n# {fitted}" if fitted else settings

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """scikit-learn's diagram and the line below it, where diagrams are shown."""
        if get_config()["display"] != "diagram":
            raise AttributeError('_repr_html_ needs display="diagram" in scikit-learn\'s settings')
        return self._diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Text, and the diagram where diagrams are shown."""
        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._diagram()
        return shown

    def _diagram(self) -> str:
        diagram = str(estimator_html_repr(self))
        fitted = self._fitted_line()
        return f"{diagram}<p>{escape(fitted)}</p>" if fitted else diagram

    def _fitted_line(self) -> str:
        what, *promised = self._made_words()
        if not what:
            return ""
        paid = self.guarantee_
        if not paid.holds:
            return f"fitted: {what}, no guarantee"
        said = [what, *promised, asked_for(paid) or numbers_of(paid)]
        seed = ", drawn with a known seed: not private" if paid.seeded else ""
        return f"fitted: {', '.join(said)}{seed}"

    def _made_words(self) -> list[str]:
        """Say what was made, and then what was promised of it; one empty word before a fit."""
        if not hasattr(self, "rashomon_set_"):
            return [""]
        planned, draws = self.plan_, self.rashomon_set_.n_draws
        many = f"{draws:,} draw{'' if draws == 1 else 's'} on {planned.n:,} rows"
        hits = f"hit rate ≥ {hit_rate_text(planned.hit_rate_bound)}"
        return [many, hits] if has_hit_rate(planned) else [many]


register_repr(ShowsFit)
