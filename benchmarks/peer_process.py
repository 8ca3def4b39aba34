"""Time the same Langevin step in XLA and in blackjax; runs where jax is installed.

Reads what :mod:`benchmarks.peers` wrote and prints one JSON object. It imports nothing of the
package: the target is written down a second time here, and compared.
"""

import argparse
import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import median_seconds

_STEPS = 20  # in one compiled call, so that calling it costs next to nothing
_GROUP = 16  # factors 1 + exp(margin) to a logarithm, as in the package
_PACKAGES = ("jax", "jaxlib", "blackjax", "numpy")


class Peer(NamedTuple):
    """The first state of all chains, a step of them, and the energy it works with."""

    state: Any
    step: Callable[[Any, Any], Any]
    value_and_gradient: Callable[[Any], tuple[Any, Any]]


class Target:
    """The smooth thresholded energy of logistic loss, for models in the columns of (p, K)."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.rows, self.minimum, self.radius = given["rows"], given["minimum"], given["radius"]
        self.beta, self.psi, self.width = given["beta"], given["psi"], given["width"]

    def value_and_gradient(self, theta: Any) -> tuple[Any, Any]:
        """Energy (K,) and its gradient (p, K): 0, then v²/(2s), then v − s/2 from v = s on."""
        loss, gradient = self._loss(theta)
        outside = jnp.maximum(loss - self.minimum - self.psi, 0)
        inner = jnp.minimum(outside, self.width)
        energy = inner**2 / (2 * self.width) + outside - inner
        return self.beta * energy, gradient * (self.beta * inner / self.width)

    def project(self, theta: Any) -> Any:
        """Nearest point of the ball."""
        return theta * (self.radius / jnp.maximum(jnp.linalg.norm(theta, axis=0), self.radius))

    def _loss(self, theta: Any) -> tuple[Any, Any]:
        n = len(self.rows)
        odds = jnp.exp(self.rows @ theta)
        factors = 1 + odds
        whole = n // _GROUP * _GROUP
        products = factors[:whole].reshape(n // _GROUP, _GROUP, -1).prod(1)
        total = jnp.log(products).sum(0) + jnp.log(factors[whole:]).sum(0)
        return total / n, self.rows.T @ (odds / factors) / n


def main() -> None:
    """Compare every peer with the arrays in the file, then time it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="arrays of the problem (.npz)")
    parser.add_argument("--seconds", type=float, required=True, help="time of one measurement")
    options = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    with np.load(options.file) as arrays:
        given = {name: jnp.asarray(arrays[name], "float64") for name in arrays.files}
    report = {
        "versions": {name: version(name) for name in _PACKAGES},
        "differences": _differences(given),
        "seconds": {name: _seconds(peer, options.seconds) for name, peer in _peers(given).items()},
    }
    print(json.dumps(report))


def _peers(given: dict[str, Any]) -> dict[str, Peer]:
    target = Target(given)
    start, step_size = given["start"], given["step_size"]
    return {
        "xla": _xla(target, start, step_size),
        "sgld": _sgld(target, start, step_size),
        "mala": _mala(target, start, step_size),
    }


def _xla(target: Target, start: Any, step_size: Any) -> Peer:
    def step(key: Any, theta: Any) -> Any:
        drift = step_size * target.value_and_gradient(theta)[1]
        noise = jax.random.normal(key, theta.shape, theta.dtype)
        return target.project(theta - drift + jnp.sqrt(2 * step_size) * noise)

    return Peer(start, step, target.value_and_gradient)


def _sgld(target: Target, start: Any, step_size: Any) -> Peer:
    """``blackjax.sgld`` with the gradient over all rows, projected after each step."""
    energy = _energy_of_one(target)
    kernel = blackjax.sgld(lambda theta, rows: -jax.grad(energy)(theta))

    def chain(key: Any, theta: Any) -> Any:
        return target.project(kernel.step(key, theta, (), step_size))

    return Peer(start.T, _all_chains(chain), _columns(energy))


def _mala(target: Target, start: Any, step_size: Any) -> Peer:
    """``blackjax.mala``, which computes one gradient a step; no density outside the ball."""
    energy = _energy_of_one(target)

    def log_density(theta: Any) -> Any:
        return jnp.where(theta @ theta <= target.radius**2, -energy(theta), -jnp.inf)

    kernel = blackjax.mala(log_density, step_size)

    def chain(key: Any, state: Any) -> Any:
        return kernel.step(key, state)[0]

    state = jax.vmap(kernel.init)(start.T)
    return Peer(state, _all_chains(chain), _columns(lambda theta: -log_density(theta)))


def _energy_of_one(target: Target) -> Callable[[Any], Any]:
    """Energy of one model (p,) that costs the same arithmetic as ours under vmap and grad.

    Left to itself, vmap moves the chains in front of the rows, and grad computes the exponential
    twice: both are slower, and neither would be a fair peer.
    """

    @jax.custom_batching.custom_vmap
    def value_and_gradient(theta: Any) -> tuple[Any, Any]:
        value, gradient = target.value_and_gradient(theta[:, None])
        return value[0], gradient[:, 0]

    @value_and_gradient.def_vmap
    def _(size: int, batched: Any, theta: Any) -> tuple[Any, Any]:
        value, gradient = target.value_and_gradient(theta.T)
        return (value, gradient.T), (True, True)

    @jax.custom_vjp
    def energy(theta: Any) -> Any:
        return value_and_gradient(theta)[0]

    energy.defvjp(value_and_gradient, lambda gradient, weight: (weight * gradient,))
    return energy


def _all_chains(chain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def step(key: Any, state: Any) -> Any:
        return jax.vmap(chain)(jax.random.split(key, len(jax.tree.leaves(state)[0])), state)

    return step


def _columns(energy: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, Any]]:
    return jax.vmap(jax.value_and_grad(energy), 1, (0, 1))


def _differences(given: dict[str, Any]) -> dict[str, float]:
    """Largest absolute differences of any peer from the energies and gradients in the file."""
    outputs = [jax.jit(peer.value_and_gradient)(given["theta"]) for peer in _peers(given).values()]
    projected = Target(given).project(2 * given["theta"])
    return {
        "energy": max(_largest(energy - given["energy"]) for energy, _ in outputs),
        "gradient": max(_largest(gradient - given["gradient"]) for _, gradient in outputs),
        "projection": _largest(projected - given["projected"]),
    }


def _largest(difference: Any) -> float:
    return float(jnp.abs(difference).max())


def _seconds(peer: Peer, seconds: float) -> float:
    """Median time of a step of all chains; the first call, which compiles, is not timed."""

    @jax.jit
    def steps(key: Any, state: Any) -> Any:
        def one(state: Any, key: Any) -> tuple[Any, None]:
            return peer.step(key, state), None

        return jax.lax.scan(one, state, jax.random.split(key, _STEPS))[0]

    key = jax.random.key(0)
    return median_seconds(lambda: jax.block_until_ready(steps(key, peer.state)), seconds) / _STEPS


if __name__ == "__main__":
    main()
