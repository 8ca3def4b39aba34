"""Capacities of many small channels at once, each between two certified bounds."""

import numpy as np

from rashomon_explorer.array_types import FloatArray

_TINY = 1e-300
_MOST_ROUNDS = 60  # in which a model joins the few that count
_MOST_STEPS = 60
_CENTRE = 0.1  # share of the complementarity that a step aims at
_BOUNDARY = 0.99  # share of the way to the first weight of 0 that a step goes at most
_INNER = 0.25  # of the tolerance: what the steps may leave, so that a round has the rest


def channel_capacity(rows: FloatArray, tolerance: float) -> FloatArray:
    """Lower and upper bound, in nats, of each channel's capacity.

    The information I(P) is maximised over the few models that count, by a primal-dual
    interior-point method; then the model furthest from the mixture q_P joins them, until none is
    further than the information: at most c of them are needed in the end (Carathéodory). That
    Blahut's and Arimoto's condition holds, KL(f ‖ q_P) ≤ I(P) + tolerance for every model f, is
    what ends the search, whatever way led there; their own multiplicative steps need thousands
    where two models nearly coincide or one nearly counts.

    ``rows`` (n_rows, n_models, n_classes) are probabilities; a row is done once its bounds, in
    nats, differ by the tolerance at most.

    >>> channel_capacity(np.array([[[1.0, 0.0], [0.0, 1.0]]]), 1e-9).round(6).tolist()
    [[0.693147, 0.693147]]
    """
    bounds = np.tile([0.0, np.inf], (len(rows), 1))
    todo = np.arange(len(rows))
    negentropy = _negentropy(rows)
    few = np.concatenate([rows.argmax(axis=1), rows.argmin(axis=1)], axis=1)
    for _ in range(_MOST_ROUNDS):
        some = rows[todo[:, None], few]
        weight = _best_weights(some, negentropy[todo[:, None], few], _INNER * tolerance)
        q = _mixture(weight, some)
        far = _divergences(rows[todo], negentropy[todo], q)
        below = (weight * np.take_along_axis(far, few, axis=1)).sum(axis=1)
        bounds[todo, 0] = np.maximum(bounds[todo, 0], below)
        bounds[todo, 1] = np.minimum(bounds[todo, 1], far.max(axis=1))
        still = bounds[todo, 1] - bounds[todo, 0] > tolerance
        if not still.any():
            break
        todo = todo[still]
        few = np.concatenate([few, far.argmax(axis=1)[:, None]], axis=1)[still]
    bounds[:, 1] = np.maximum(bounds[:, 1], bounds[:, 0])  # which rounding may have crossed
    return bounds


def _best_weights(some: FloatArray, own: FloatArray, tolerance: float) -> FloatArray:
    """Weights (n_rows, k) of at most ``tolerance`` less information than the most."""
    best = np.full(own.shape, 1 / own.shape[1])
    todo, weight = np.arange(len(own)), best.copy()
    far = _divergences(some, own, _mixture(weight, some))
    top = far.max(axis=1, keepdims=True)
    price = top - far + 0.1 * (top - far.min(axis=1, keepdims=True)) + tolerance
    level = top[:, 0] + 0.1 * (top - far.min(axis=1, keepdims=True))[:, 0] + tolerance
    for _ in range(_MOST_STEPS):
        far = _divergences(some, own, _mixture(weight, some))
        best[todo] = weight
        still = far.max(axis=1) - (weight * far).sum(axis=1) > tolerance
        if not still.any():
            break
        todo, some, own, far = todo[still], some[still], own[still], far[still]
        state = weight[still], price[still], level[still]
        weight, price, level = _step(some, far, *state)
    return best


def _step(
    some: FloatArray, far: FloatArray, weight: FloatArray, price: FloatArray, level: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One Newton step towards: divergence = level − price, weight·price = target, weights 1."""
    k = weight.shape[1]
    target = _CENTRE * (weight * price).sum(axis=1, keepdims=True) / k
    q = np.maximum(_mixture(weight, some), _TINY)
    system = np.ones((len(weight), k + 1, k + 1))
    system[:, :k, :k] = (some / q[:, None, :]) @ some.swapaxes(1, 2)
    system[:, np.arange(k), np.arange(k)] += price / weight
    system[:, k, k] = 0.0
    right = np.empty((len(weight), k + 1))
    right[:, :k] = far - level[:, None] + target / weight
    right[:, k] = 1 - weight.sum(axis=1)
    move = np.linalg.solve(system, right[:, :, None])[:, :, 0]
    toward, rise = move[:, :k], move[:, k]
    cheaper = target / weight - price - price / weight * toward
    reach = np.minimum(_room(weight, toward), _room(price, cheaper))
    weight = weight + reach * toward
    weight /= weight.sum(axis=1, keepdims=True)
    return weight, price + reach * cheaper, level + reach[:, 0] * rise


def _room(values: FloatArray, move: FloatArray) -> FloatArray:
    """Longest step (n_rows, 1), at most 1, that leaves every value above 0."""
    falling = np.where(move < 0, -move / values, 0.0).max(axis=1, keepdims=True)
    return np.minimum(1.0, _BOUNDARY / np.maximum(falling, _TINY))


def _mixture(weight: FloatArray, some: FloatArray) -> FloatArray:
    return np.asarray((weight[:, None, :] @ some)[:, 0, :])


def _divergences(some: FloatArray, own: FloatArray, q: FloatArray) -> FloatArray:
    """KL(f ‖ q) (n_rows, k); a class that q leaves out counts as one of 1e-300."""
    return np.asarray(own - (some @ np.log(np.maximum(q, _TINY))[:, :, None])[:, :, 0])


def _negentropy(rows: FloatArray) -> FloatArray:
    logs = np.log(np.maximum(rows, _TINY))
    return np.asarray(np.einsum("rmc,rmc->rm", rows, logs))
