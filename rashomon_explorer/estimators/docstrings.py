"""Docstrings of the parameters and attributes that several estimators have."""

import re
from textwrap import indent
from typing import TypeVar

Kind = TypeVar("Kind", bound=type)

_SHARED = (
    """\
epsilon : float, default=1.0
    Total privacy cost ε of one fit.""",
    """\
delta : float, default=1e-6
    Total δ of one fit; 0 requests pure DP. With δ > 0, a ridge and no ledger, exact draws of
    linear models may have a certificate that is not pure: see ``plan_.certificate``.""",
    """\
mechanism : str, default="auto"
    ``"auto"`` selects from public numbers and states the reason in ``plan_``
    (docs/planning.md). Mechanisms whose draws are expected to fail are excluded; if none is
    left, nothing is charged. ``"exact"``, ``"unthresholded"`` (exact draws at ψ = 0) and, for
    at most three parameters, ``"finite_grid"`` have the guarantee above.
    ``"hit_and_run"`` is uniform on the Rashomon set, has no guarantee and is for the curator
    only.
    ``"langevin"`` takes the states of one noisy gradient path, for δ > 0: one privacy cost for
    any number of them. One draw is the average of a path.
    ``"ellipsoid"`` releases one good model and the curvature there, for δ > 0, and draws
    uniformly near it: one privacy cost for any number of draws and columns (docs/planning.md).""",
    """\
n_draws : int or "auto", default="auto"
    Number of models. ``"auto"`` depends on public numbers only; ``plan_`` has the result: 400
    states of a path or 5 to 20 draws if the guarantees suffice for a Rashomon set, otherwise one
    model.""",
    """\
batch_size : int, None or "auto", default="auto"
    Rows that a step of ``mechanism="langevin"`` samples; None for all rows. ``"auto"`` samples
    where a pass over all rows in each step would take long.
batch_order : {"poisson", "sampled", "allocated"}, default="poisson"
    Whether each row is in a batch with one probability, batches have a fixed size, or each row is
    in one batch of an epoch. The privacy cost is that of the order that runs; a batch is never
    shown. ``"allocated"`` guarantees no share of the states, and needs ``ledger=None``.
share : float, default=0.5
    Share of the states of ``mechanism="langevin"`` in the Rashomon set that the plan guarantees in
    expectation, if the budget allows it. A smaller one gives a wider set.""",
    """\
radius : float or "auto", default="auto"
    Radius of the ball of models, including the intercept; at least 2⁻²⁰, the grid of draws.
    ``"auto"`` increases with rows and budget per parameter. For ``mechanism="hit_and_run"`` it
    is 32·√p for p parameters, for any budget: a ``RadiusBindsWarning`` reports if the Rashomon
    set extends beyond it.""",
    """\
row_norm : float or "auto", default="auto"
    Declared bound on ‖x‖; longer rows are clipped, in ``fit`` and in ``predict``. Scale
    features first with :class:`PublicBoundsScaler`. ``"auto"`` is 1, and 2 with a schema,
    whose encoder scales rows to it; the intercept's share of the privacy cost is then a fifth.""",
    """\
ridge : float or "auto", default="auto"
    Coefficient of ½‖θ‖² in the loss, at most 2²⁰. ``"auto"`` is 0 for a named ``mechanism``;
    ``mechanism="auto"`` may use a small one with a private centre.""",
    """\
standardize : {"auto", "private"} or None, default="auto"
    ``"private"`` spends a tenth of the budget on noisy centres and spreads of the columns,
    releases them, and draws models of the mapped rows. ψ, radius and Rashomon set then refer
    to the mapped columns (``scale_``). ``"auto"`` does so only for one good model with
    ``mechanism="auto"``, if this improves the plan (docs/planning.md). None never does.""",
    """\
patience : int, None or "auto", default="auto"
    Consecutive rejected proposals after which ``mechanism="exact"`` gives up, at most
    2·10¹⁰/p². The guarantee bounds the probability of this where public numbers suffice
    (docs/ledger.md). None never gives up and may run until interrupted. ``"auto"`` is
    5,000,000, and raises before any charge if draws fail on all kinds of simulated rows.""",
    """\
classes : array-like, default=None
    Every label that may occur, declared as public knowledge; a declared class may lack rows.
    With None, the labels found in ``y`` are treated as public. Models and guarantee then reveal
    which labels occur; the guarantee covers only tables with the same labels, and states this.
    With a ledger, classes must be declared: it is charged before ``y`` is read.""",
    """\
target_bounds : tuple of float, default=None
    Declared range of the target, which is mapped onto [−1, 1] and clipped; never computed from
    the rows. Required, unless a schema declares it.""",
    """\
schema : TableSchema, str, path or None, default=None
    Schema of the table, or its file (docs/your-table.md). X is then the raw table: a DataFrame with
    text and missing values, with or without the target and other columns. The schema encodes
    columns in ``fit`` and ``predict``; it declares the classes or the bounds of its target.""",
    """\
ledger : str, path or Ledger, default=None
    Privacy ledger, charged before the rows are read; every fit, also of a clone, charges
    again. It must exist (:meth:`Ledger.create`); a missing or empty file is an error.""",
    """\
random_state : int, RandomState instance or None, default=None
    A seed makes a run reproducible. Privacy then holds only against those who cannot know
    the seed; the guarantee states this. None takes entropy from the operating system.""",
    """\
guarantee_ : Guarantee
    Privacy of all draws together: ``guarantee_.epsilon(delta)``. No guarantee holds for rows
    that a :class:`PublicBoundsScaler` mapped with bounds computed from the rows. Other
    data-dependent pipeline steps, such as a ``StandardScaler``, are not detected and not
    covered: :func:`privacy_leaks` lists them.""",
    """\
encoded_coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    Coefficients of the model, or of the mean model of several; with three or more classes, one
    row for each. The first row is 0, for the reference class. They apply to encoded and clipped
    rows; ``coef_`` is absent because it would apply to raw rows.
encoded_intercept_ : ndarray of shape (1,) or (n_classes,)
    Intercept of the model.""",
    """\
encoded_coef_ : ndarray of shape (n_features,)
    Coefficients of the model, or of the mean model of several, in units of the target. They
    apply to encoded and clipped rows; ``coef_`` is absent because it would apply to raw rows.
encoded_intercept_ : float
    Intercept of the model, in units of the target.""",
    """\
classes_ : ndarray of shape (n_classes,)
    Sorted class labels; for two classes, the second is the positive class.""",
    """\
n_features_in_ : int
    Number of feature columns of X, before encoding and without the target.""",
    """\
scale_ : ColumnMap or None
    Released centres and spreads; ``encoded_coef_`` refers to the unscaled columns.""",
    """\
encoder_ : TableEncoder
    Encoder of the rows, for measures that require encoded rows; set only with a schema.""",
)

SHARED = {
    header: description
    for entry in _SHARED
    for header, description in re.findall(r"^(\S.*)\n((?:    .*(?:\n|$))+)", entry, re.MULTILINE)
}
"""Descriptions by the line of the parameter or attribute, with its type and default."""


def with_shared_docs(kind: Kind) -> Kind:
    """Add the shared descriptions to the lines of a class docstring that have none."""

    def described(line: re.Match[str]) -> str:
        description = SHARED.get(line[2])
        return (
            line[0]
            if description is None
            else f"{line[0]}\n{indent(description.rstrip(), line[1])}"
        )

    if kind.__doc__ is not None:  # absent with python -OO
        # Not followed by an indented line: a class may describe a shared parameter itself.
        pattern = r"^( *)(\w+ : .*)$(?!\n\1 +\S)"
        kind.__doc__ = re.sub(pattern, described, kind.__doc__, flags=re.MULTILINE)
    return kind
