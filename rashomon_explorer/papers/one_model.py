"""Reference mechanisms of one model: average and last state of descent, output perturbation."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms import one_model
from rashomon_explorer.mechanisms import request as requests
from rashomon_explorer.mechanisms.base import Traits
from rashomon_explorer.mechanisms.ellipsoid import sampler
from rashomon_explorer.mechanisms.langevin.accounting import plan_weighted_path
from rashomon_explorer.mechanisms.langevin.plan import LastState, plan_last_state
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.planning import centres
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import gdp, pure
from rashomon_explorer.problem.problem import Problem


class DescentMechanism(one_model.OneModelMechanism):
    """Base of mechanisms that follow noisy gradients."""

    traits: ClassVar[Traits] = replace(one_model.DESCENT_TRAITS, compared=False)

    @classmethod
    def unsuited(cls, request: requests.Request) -> str:
        """Decline pure DP, and losses with kinks."""
        return request.why_no_descent or super().unsuited(request)

    @staticmethod
    def best_descent(
        request: requests.Request, plan: Callable[..., Any]
    ) -> tuple[float, Any, float]:
        """Best ridge, the descent planned under it, and its excess bound."""
        mu, zeros = one_model.affordable_mu(request), request.zero_loss
        return one_model.under_best_ridge(
            request, lambda one: plan(one.constants, one.radius, mu, zeros), every=3
        )


def path_pull(pace: float, n_steps: int, m: float) -> float:
    """Ridge m/(1 − (1 − ηm)^N) whose minimiser moves as much as N steps if a row is replaced.

    Steps η ≤ 1/M with the same noise contract distances by 1 − ηm and add 2ηL₀/n, so that states,
    and their averages, end within 2L₀(1 − (1 − ηm)^N)/(mn): 2L₀ηN/n at m = 0. These are Lemma F.3
    and, behind Theorem F.5, Corollary E.2 of "On the universality of Langevin diffusion".
    """
    reached = -math.expm1(n_steps * math.log1p(-pace * m)) if pace * m < 1 else 1.0
    return m / reached if m > 0 else 1 / (pace * n_steps)


class LastIterate(DescentMechanism):
    """The last state of noisy gradient descent; the others stay hidden (docs/theory §17)."""

    name: ClassVar[str] = "last_iterate"
    summary: ClassVar[str] = "the last state of noisy gradient descent"

    @classmethod
    def plan_for(cls, request: requests.Request) -> one_model.OneModelPlan:
        """Descent under the best ridge."""
        ridge, planned, excess = cls.best_descent(request, plan_last_state)
        return cls.plan_with(
            request,
            planned,
            proof=f"only the last of {planned.n_steps} steps is released and accounted for",
            guarantee=planned.guarantee,
            excess=excess,
            ridge=ridge,
            gap=requests.stable_gap(request, path_pull(planned.pace, planned.n_steps, ridge)),
        )

    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """See :class:`OneModelMechanism`."""
        planned: LastState = self.settings
        target = GibbsTarget(problem, planned.beta, psi=0.0)
        chain = LangevinSampler(planned.step_size, planned.n_steps, n_chains=1, shown="last")
        *_, last = chain.batches(target, rng)
        return np.asarray(last.theta[:, 0])


class NoisyDescent(DescentMechanism):
    """Weighted average of projected noisy gradient descent (docs/theory.md §13, §21)."""

    name: ClassVar[str] = "noisy_descent"
    summary: ClassVar[str] = "the average of noisy gradient descent"

    @classmethod
    def plan_for(cls, request: requests.Request) -> one_model.OneModelPlan:
        """Descent under the best ridge."""
        ridge, planned, excess = cls.best_descent(request, plan_weighted_path)
        return cls.plan_with(
            request,
            planned,
            proof=f"every state of {planned.n_steps} steps is accounted for",
            guarantee=gdp(planned.mu),
            excess=excess,
            ridge=ridge,
            gap=requests.stable_gap(request, path_pull(planned.step_size, planned.n_steps, ridge)),
        )

    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """See :class:`OneModelMechanism`."""
        *_, last = sampler.released_centre(problem, self.settings, rng)
        assert last is not None  # the centre is the last item
        return last.theta


class OutputPerturbation(one_model.OneModelMechanism):
    """Certified minimiser under a ridge plus noise, projected onto the ball."""

    name: ClassVar[str] = "output_perturbation"
    summary: ClassVar[str] = "the minimiser plus noise"
    traits: ClassVar[Traits] = replace(one_model.OneModelMechanism.traits, compared=False)

    @classmethod
    def plan_for(cls, request: requests.Request) -> one_model.OneModelPlan:
        """Noise with the smaller bound, of pure or Gaussian DP, under the best ridge."""
        costs = [None, one_model.affordable_mu(request)] if request.delta > 0 else [None]
        zeros = request.zero_loss

        def planned(one: requests.Request) -> centres.NoisyMinimiser:
            known, epsilon = (one.constants, one.radius, zeros), one.epsilon
            both = [centres.plan_noisy_minimiser(*known, epsilon=epsilon, mu=mu) for mu in costs]
            return min(both, key=lambda one: one.excess)

        ridge, best, excess = one_model.under_best_ridge(request, planned, required=True)
        proof, guarantee = "pure DP of the noise", pure(request.epsilon)
        if best.gaussian:
            proof, guarantee = "Gaussian DP of the noise", gdp(one_model.affordable_mu(request))
        return cls.plan_with(
            request,
            best,
            proof=proof,
            guarantee=replace(guarantee, assumptions=(*guarantee.assumptions, sampler.CERTIFIED)),
            excess=excess,
            ridge=ridge,
            gap=requests.stable_gap(request, ridge, 2 * best.solver),
        )

    def draw(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """See :class:`OneModelMechanism`."""
        best: centres.NoisyMinimiser = self.settings
        return one_model.noisy_minimiser(
            problem, best.solver, best.scale, rng, gaussian=best.gaussian
        )
