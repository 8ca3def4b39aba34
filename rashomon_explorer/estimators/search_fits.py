"""The fits of a search: every candidate once, or some at random, and the one that is kept."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from rashomon_explorer.estimators.search_sides import Sides
from rashomon_explorer.progress import progress
from rashomon_explorer.selection import SearchPlan


@dataclass(frozen=True)
class Fits:
    """Fits of candidates at the plan's price each, scored by rows that none of them sees."""

    sides: Sides
    candidates: list[Any]
    planned: SearchPlan
    rng: np.random.Generator
    seeded: bool  # whether the fits' own seeds are drawn from ``rng``

    def chosen(self) -> tuple[int, Any, list[Any]]:
        """Place and model of the choice, and all models that were paid for."""
        return self._of_every() if self.planned.runs is None else self._of_some()

    def _of_every(self) -> tuple[int, Any, list[Any]]:
        models = [self._fitted(one) for one in progress(self.candidates, "candidates")]
        assert self.planned.pick is not None  # of this way
        place = self.planned.pick.draw([self.sides.loss(one) for one in models], self.rng)
        return place, models[place], models

    def _of_some(self) -> tuple[int, Any, list[Any]]:
        planned, rng = self.planned, self.rng
        assert planned.runs is not None  # of this way
        least, kept = np.inf, (0, None)
        scale = 1 / (planned.n_val * planned.each[0])
        for _ in range(planned.runs.draw(rng)):
            place = int(rng.integers(len(self.candidates)))
            model = self._fitted(self.candidates[place])
            noisy = self.sides.loss(model) + rng.laplace(scale=scale)
            if noisy < least:
                least, kept = noisy, (place, model)
        place, best = kept
        return place, best, [best]

    def _fitted(self, one: Any) -> Any:
        seed = int(self.rng.integers(2**31)) if self.seeded else None
        epsilon, delta = self.planned.each
        model = clone(one).set_params(epsilon=epsilon, delta=delta, random_state=seed)
        return model.fit(*self.sides.fitted)
