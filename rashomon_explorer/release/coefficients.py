"""Coefficients of the population's best model, with sampling error and noise in their intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.constants import row_bound
from rashomon_explorer.problem.problem import add_intercept
from rashomon_explorer.release import query, statistic
from rashomon_explorer.release.losses import SMOOTH, posed_loss, posed_targets
from rashomon_explorer.release.statistic import GAUSSIAN, Noise

_STEPS = (0.1, 0.2, 0.7)  # shares of the cost
_PARTS = (0.5, 0.3, 0.2)  # of a step, for the gradient, the Hessian and the second moments
_MIN_SIGNAL_RATIO = 3.0  # least ratio of the smallest curvature to the noise in it
_USUAL_SHARE = 8.0  # the largest mean curvature over the least one of usual rows
_SMALL = 1e-4  # below it the growth is 1 to within rounding
_MAX_ERROR_RATIO = 1.0  # largest ratio of the error of the last step to the standard error


@dataclass(frozen=True)
class Coefficients(query.Query):
    """Coefficients of the best model of the population, with 95 % intervals.

    The target is the minimiser θ* over the population of the draws' loss: of rows clipped to the
    row norm, with the plan's ridge. Three Newton steps lead to it from the mean of the draws, or
    from 0 without draws. Each reads, with noise, the gradient, the Hessian and the second moments G
    of the rows' gradients at a public model. The interval of a coefficient holds

    - sampling: H⁻¹ G H⁻¹/n, the sandwich, which needs no correct model of the targets;
    - noise: that of the gradient, and of the Hessian times the last step.

    How the draws were made does not enter, so every mechanism's draws will do. The intervals leave
    out the bias by clipping and by the ridge: θ* is not the minimiser without them. After a long
    last step an interval is wider by a bound on the error of its linear approximation. A
    coefficient is NaN, with the reason, where the noise hides the curvature, this bound exceeds the
    ball, or the minimiser may lie on the sphere (docs/theory/inference.md §29).

    References
    ----------
    White (1982) for the sandwich; Avella-Medina, Bradshaw and Loh, "Differentially private
    inference via noisy optimization" (Annals of Statistics, 2023) for noisy Newton steps.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> from rashomon_explorer.release import release
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (20_000, 2))
    >>> y = (X[:, 0] + 0.5 * rng.logistic(size=20_000) > 0).astype(int)
    >>> every = RashomonClassifier(psi=0.01, radius=4.0, classes=(0, 1))  # nothing is drawn
    >>> found = release(
    ...     every, X, y, queries=["coefficients"], rho=0.1, ledger=None, random_state=0
    ... )
    >>> slope = found["coefficient of x0"]
    >>> [round(end, 1) for end in slope.interval()], 2 * slope.rows_error > slope.standard_error
    ([1.9, 2.1], True)
    >>> print(slope.note)
    within ψ = 0.01 models reach from 0.928 to 3.03 (quadratic approximation)
    """

    name: ClassVar[str] = "coefficients"
    definition: ClassVar[str] = (
        "coefficients of the population's best model for the clipped rows and the ridge of the "
        "draws; intervals hold noise and sampling, not the bias by clipping and ridge"
    )
    needs: ClassVar[tuple[str, ...]] = ("y",)
    fewest_draws: ClassVar[int] = 0
    linear_only: ClassVar[bool] = True
    noise_kind: ClassVar[str] = GAUSSIAN

    def check(self, public: query.PublicShape) -> None:
        """Raise an error for models without a ball, a smooth loss or a single score."""
        super().check(public)
        plan = public.linear.plan
        if public.linear.outputs > 1:
            raise ValueError("coefficients needs models with one score, got one for each class")
        if plan.radius is None:
            raise ValueError("coefficients needs draws from a ball of models, with its radius")
        if plan.loss not in SMOOTH:
            raise ValueError(
                f"coefficients supports the losses {SMOOTH}, which have a Hessian everywhere, but "
                f"the draws use {plan.loss!r}"
            )

    def sensitivity(self, public: query.PublicShape) -> query.Sensitivity:
        """1 in the ℓ₂ norm: every part of a step is in units of its own sensitivity."""
        return query.Sensitivity(math.sqrt(sum(_sizes(public))), 1.0)

    def check_noise(self, public: query.PublicShape, noise: Any) -> None:
        """Raise an error if the noise hides even the largest mean eigenvalue of a Hessian."""
        curvature, noise_eigenvalue = self._curvatures(public, noise)
        if curvature < _MIN_SIGNAL_RATIO * noise_eigenvalue:
            times = _MIN_SIGNAL_RATIO * noise_eigenvalue / curvature
            raise ValueError(
                f"coefficients would be hidden by the noise, whatever {public.n_rows:,} rows say: "
                f"use {times:.2g} times as many rows, or {times**2:.2g} times the budget rho"
            )

    def hidden(self, public: query.PublicShape, noise: Any) -> str:
        """Compare the noise with the least curvature that usual rows have."""
        curvature, noise_eigenvalue = self._curvatures(public, noise)
        times = _USUAL_SHARE * _MIN_SIGNAL_RATIO * noise_eigenvalue / curvature
        if times < 1:
            return ""
        return (
            "the curvature, and with it all coefficients (NaN), unless rows are long and classes "
            f"balanced: use {times:.2g} times as many rows, or {times**2:.2g} times the budget rho"
        )

    def _curvatures(self, public: query.PublicShape, noise: Any) -> tuple[float, float]:
        """Largest mean eigenvalue of a Hessian, and about the largest one of its noise."""
        width = len(public.linear.feature_names)
        bound = row_bound(public.linear.row_norm, intercept=True)
        curvature = posed_loss(public.linear).smoothness(bound) / width + public.linear.plan.ridge
        start, blank = np.zeros(width), np.zeros(sum(_sizes(public)))
        step = _Step.read(public, start, blank, _STEPS[-1], noise.scale)
        return curvature, step.noise_eigenvalue

    def compute(self, rows: query.Rows) -> FloatArray:
        """Return the second step's parts at the starting model, in units of their sensitivity."""
        return _parts(rows, _start(rows.public))

    def noisy(self, rows: query.Rows, noise: Any, add_noise: query.AddNoise) -> FloatArray:
        """Return the model before the last step, and the noisy parts of that step."""
        public, theta = rows.public, _start(rows.public)
        size = self.sensitivity(public).l1
        for share in _STEPS:
            root = math.sqrt(share)
            start = theta
            values = add_noise(root * _parts(rows, start), query.Sensitivity(size * root, root))
            theta = _Step.read(public, start, values, share, noise.scale).stepped_model
        return np.append(start, values)

    def statistics(
        self, noisy: FloatArray, noise: Noise, public: query.PublicShape
    ) -> tuple[statistic.Statistic, ...]:
        width = len(public.linear.feature_names)
        return _Step.read(
            public, noisy[:width], noisy[width:], _STEPS[-1], noise.scale
        ).coefficients


def _sizes(public: query.PublicShape) -> tuple[int, int, int]:
    width = len(public.linear.feature_names)
    return width, width * (width + 1) // 2, width * (width + 1) // 2


def _start(public: query.PublicShape) -> FloatArray:
    """Mean of the draws, in the ball; 0 without draws."""
    coef = public.linear.coef
    return _in_ball(public, coef.mean(axis=0) if len(coef) else np.zeros(coef.shape[1]))


def _in_ball(public: query.PublicShape, theta: FloatArray) -> FloatArray:
    radius, length = public.linear.plan.radius, float(np.linalg.norm(theta))
    assert radius is not None  # `Coefficients.check`
    return theta if length <= radius else theta * (radius / length)


def _units(public: query.PublicShape, theta: FloatArray) -> tuple[float, float, float]:
    """ℓ₂ sensitivities of gradient, Hessian and second moments: 2l/n, √2·M/n and √2·l²/n."""
    # Of row gradients g of norm at most l and Hessians f''zzᵀ of Frobenius norm at most M: two
    # positive semidefinite matrices have a nonnegative inner product.
    models, n = public.linear, public.n_rows
    bound = row_bound(models.row_norm, intercept=True)
    loss = posed_loss(models)
    steepest = loss.lipschitz(bound * float(np.linalg.norm(theta)), bound)
    bent = loss.smoothness(bound)
    return 2 * steepest / n, math.sqrt(2) * bent / n, math.sqrt(2) * steepest**2 / n


def _parts(rows: query.Rows, theta: FloatArray) -> FloatArray:
    """Gradient, Hessian and second moments of the rows' gradients, in units of sensitivity."""
    public, models = rows.public, rows.public.linear
    loss: Any = posed_loss(models)
    table, offsets = loss.linear_form(add_intercept(models.rows(rows.X)), posed_targets(rows))
    scores, n = table @ theta + (0.0 if offsets is None else offsets), public.n_rows
    slopes = loss.function.slope(scores)
    gradient = slopes @ table / n
    hessian = (loss.function.curvature(scores)[:, None] * table).T @ table / n
    moments = (slopes[:, None] ** 2 * table).T @ table / n
    parts = [gradient, _packed(hessian), _packed(moments)]
    scales = zip(parts, _units(public, theta), _PARTS, strict=True)
    return np.concatenate([part / unit * math.sqrt(share) for part, unit, share in scales])


def _packed(matrix: FloatArray) -> FloatArray:
    """Entries on and above the diagonal, whose ℓ₂ norm is the Frobenius norm."""
    first, second = np.triu_indices(len(matrix))
    return np.asarray(matrix[first, second] * np.where(first == second, 1.0, math.sqrt(2)))


def _unpacked(entries: FloatArray, width: int) -> FloatArray:
    first, second = np.triu_indices(width)
    matrix = np.zeros((width, width))
    matrix[first, second] = entries / np.where(first == second, 1.0, math.sqrt(2))
    return matrix + np.triu(matrix, 1).T


@dataclass(frozen=True, eq=False)
class _Step:
    """A Newton step from a public model, from noisy parts."""

    public: query.PublicShape
    theta: FloatArray
    data_gradient: FloatArray
    data_hessian: FloatArray
    moments: FloatArray
    noise: tuple[float, float]  # standard deviation in the gradient, on the Hessian's diagonal

    @classmethod
    def read(
        cls,
        public: query.PublicShape,
        theta: FloatArray,
        values: FloatArray,
        share: float,
        scale: float,
    ) -> Self:
        """Return the parts in their own units."""
        units = [
            unit / math.sqrt(share * part)
            for unit, part in zip(_units(public, theta), _PARTS, strict=True)
        ]
        ends = np.cumsum(_sizes(public))[:-1]
        gradient, hessian, moments = (
            part * unit for part, unit in zip(np.split(values, ends), units, strict=True)
        )
        width, noise = len(theta), (scale * units[0], scale * units[1])
        return cls(
            public, theta, gradient, _unpacked(hessian, width), _unpacked(moments, width), noise
        )

    @property
    def _ridge(self) -> float:
        return float(self.public.linear.plan.ridge)

    @cached_property
    def noise_eigenvalue(self) -> float:
        """About the largest eigenvalue of the noise in the Hessian."""
        return self.noise[1] * (math.sqrt(2 * len(self.theta)) + 2)

    @cached_property
    def _curvatures(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = np.linalg.eigh(self.data_hessian)
        return values + self._ridge, vectors

    @cached_property
    def _inverse(self) -> FloatArray:
        values, vectors = self._curvatures
        return np.asarray(
            vectors / np.maximum(values, self.noise_eigenvalue + self._ridge) @ vectors.T
        )

    @cached_property
    def _newton_step(self) -> FloatArray:
        return -self._inverse @ (self.data_gradient + self._ridge * self.theta)

    @property
    def stepped_model(self) -> FloatArray:
        """Model after the step, in the ball."""
        return _in_ball(self.public, self.theta + self._newton_step)

    @property
    def coefficients(self) -> tuple[statistic.Coefficient, ...]:
        """Coefficients after the step, with their errors."""
        *slopes, _ = self.public.linear.feature_names
        names = [*(f"coefficient of {name}" for name in slopes), "intercept"]
        psi, radius = self.public.models.psi, float(self.public.linear.plan.radius or 0.0)
        columns = (
            self.theta + self._newton_step,
            np.sqrt(np.diag(self._noise)),
            np.sqrt(np.diag(self._sampling).clip(0)),
            np.sqrt(2 * psi * np.diag(self._inverse)),
            self._bias,
        )
        return tuple(
            statistic.Coefficient(name, end, noise, rows, choice, radius, psi, doubt, bias)
            for name, doubt, end, noise, rows, choice, bias in zip(
                names, self._caveats, *(column.tolist() for column in columns), strict=True
            )
        )

    @cached_property
    def _sampling(self) -> FloatArray:
        """Covariance by sampling: the rows' gradients are centred, as the ridge offsets them."""
        mean = self.data_gradient
        spread = self.moments - np.outer(mean, mean)
        return np.asarray(self._inverse @ spread @ self._inverse / self.public.n_rows)

    @cached_property
    def _noise(self) -> FloatArray:
        """Covariance by the noise of the gradient, and of the Hessian times the step."""
        gradient, hessian = self.noise
        step, eye = self._newton_step, np.eye(len(self.theta))
        along = hessian**2 / 2 * (step @ step * eye + np.outer(step, step))
        return np.asarray(self._inverse @ (gradient**2 * eye + along) @ self._inverse)

    @property
    def _caveats(self) -> Sequence[str]:
        """Reason why each coefficient is unknown; empty if it is known."""
        end = self.theta + self._newton_step
        total = self._sampling + self._noise
        if self._curvatures[0].min() < _MIN_SIGNAL_RATIO * self.noise_eigenvalue:
            return ["the noise hides the curvature of the loss: use a larger budget"] * len(end)
        length = float(np.linalg.norm(end))
        radial = math.sqrt(max(float(end @ total @ end), 0.0)) / max(length, 1e-300)
        if length + 2 * radial > (self.public.linear.plan.radius or 0.0):
            return ["the best model may lie on the sphere: use a larger radius"] * len(end)
        far = self._bias > (self.public.linear.plan.radius or 0.0)
        return np.where(
            far, "the start is too far away for the noise: use a larger budget", ""
        ).tolist()

    @cached_property
    def _bias(self) -> FloatArray:
        """What the error of the linear approximation adds to an interval; 0 below its errors."""
        errors = np.sqrt(np.diag(self._sampling + self._noise).clip(0))
        return np.where(
            self._linearisation_error > _MAX_ERROR_RATIO * errors, self._linearisation_error, 0.0
        )

    @cached_property
    def _linearisation_error(self) -> NDArray[np.float64]:
        """Bound on the error of the linear approximation of the gradient, by coefficient."""
        # Half the third derivative along the step, twice, and a column a of the inverse: at most
        # κ/2 times max |z·a|·vᵀHv, and times max |z·v|·√(aᵀHa·vᵀHv), with |f'''| ≤ κ f''. Along the
        # step f'' grows by a factor of at most exp(κ|z·v|), which turns ½ into (eᵗ − 1 − t)/t².
        bound = row_bound(self.public.linear.row_norm, intercept=True)
        curved = math.sqrt(
            max(float(self._newton_step @ self.data_hessian @ self._newton_step), 0.0)
        )
        across = bound * np.linalg.norm(self._inverse, axis=0) * curved
        along = bound * float(np.linalg.norm(self._newton_step)) * np.sqrt(np.diag(self._inverse))
        ratio = getattr(posed_loss(self.public.linear), "third_derivative", math.inf)
        length = ratio * bound * float(np.linalg.norm(self._newton_step))
        growth = 1.0
        if length >= _SMALL:
            growth = 2 * (math.expm1(min(length, 50.0)) - length) / length**2
        return np.asarray(ratio / 2 * growth * curved * np.minimum(across, along))
