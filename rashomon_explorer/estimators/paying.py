"""What every estimator that pays for its rows does alike: look at shapes, charge, then read."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import backend_for
from rashomon_explorer.block_problem import BlockProblem
from rashomon_explorer.blocks import Step
from rashomon_explorer.blocks.opened import blocks_with, is_in_blocks
from rashomon_explorer.blocks.steps import Longer, Mapped
from rashomon_explorer.clipping import clip_rows
from rashomon_explorer.column_map import ColumnMap
from rashomon_explorer.containers import check_readable, values_of
from rashomon_explorer.estimators.block_table import BlockTable
from rashomon_explorer.estimators.declared_table import DeclaredTable
from rashomon_explorer.estimators.enclosing import not_known_to_be_public, warn_of_repeated_records
from rashomon_explorer.estimators.looking import LooksThrough
from rashomon_explorer.estimators.shows import ShowsFit
from rashomon_explorer.estimators.unread import UnreadTable
from rashomon_explorer.estimators.warn import warn_if_shortened
from rashomon_explorer.leaks import ONE_BY_ONE
from rashomon_explorer.losses import Loss
from rashomon_explorer.planning.columns import ColumnsPlan
from rashomon_explorer.privacy import Charge, Guarantee, Ledger, may_fail
from rashomon_explorer.privacy.arithmetic import computed_on
from rashomon_explorer.randomness import generator, noise_assumptions
from rashomon_explorer.samplers.columns import released_map
from rashomon_explorer.schema import TableSchema
from rashomon_explorer.schema.encoder import warn_of_unconfirmed


class PaysForRows(ShowsFit, LooksThrough):
    """The parts of a fit that do not depend on what is drawn."""

    _numeric: ClassVar[bool] = False  # whether targets must be numbers

    if TYPE_CHECKING:
        row_norm: Any
        schema: Any
        ledger: Any
        random_state: Any

    @property
    def _row_norm(self) -> float:
        """Declared bound of ‖x‖."""
        return float(self.row_norm)

    @property
    def _declared(self) -> TableSchema | None:
        return None if self.schema is None else TableSchema.of(self.schema)

    def _n_encoded(self, n_features: int | None) -> int:
        declared = self._declared
        if declared is not None:
            return len(declared.encoded_names)
        if n_features is None:
            raise ValueError("n_features must be given where there is no schema")
        return n_features

    def _table(self, X: Any, y: Any, *, numeric: bool) -> UnreadTable:
        """Measure the table; no value is read."""
        declared, charged = self._declared, self.ledger is not None
        if declared is None:
            return UnreadTable(self, X, y, numeric=numeric, charged=charged)
        warn_of_unconfirmed(declared)
        asked: dict[str, Any] = {"numeric": numeric, "charged": charged}
        return DeclaredTable(self, X, y, **asked, schema=declared, row_norm=self._row_norm)

    def _look_through(self, X: Any, y: Any) -> None:
        if is_in_blocks(X):
            self._look_through_blocks(self._any_table(X, y, numeric=self._numeric))
            return
        table = self._table(X, y, numeric=self._numeric)
        self._posed(table)
        self._targets(table)
        if table.may_be_long:
            warn_if_shortened(clip_rows(table.values[0], self._row_norm)[1], self._row_norm)

    def _look_through_blocks(self, table: UnreadTable | BlockTable) -> None:
        assert isinstance(table, BlockTable)
        self._posed(table)
        (longer,) = table.coded(self._target_step()).reduce(Longer(self._row_norm))
        if table.may_be_long:
            warn_if_shortened(float(longer[0]) / table.shape[0], self._row_norm)

    def _any_table(self, X: Any, y: Any, *, numeric: bool) -> UnreadTable | BlockTable:
        """Measure the table, whole or in blocks; no value is read."""
        if not is_in_blocks(X):
            return self._table(X, y, numeric=numeric)
        declared = self._declared
        blocks = blocks_with(X, y)
        if declared is not None:
            warn_of_unconfirmed(declared)
        return BlockTable(blocks, declared, self._row_norm, charged=self.ledger is not None)

    def __sklearn_tags__(self) -> Tags:
        """With a schema, text and missing values are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = self.schema is not None
        tags.input_tags.allow_nan = self.schema is not None
        return tags

    def _checked(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        if hasattr(self, "encoder_"):
            return np.asarray(self.encoder_.transform(X))
        check_readable("X", X)
        return np.asarray(validate_data(self, values_of(X), dtype=np.float64, reset=False))

    def _target_step(self) -> Step:
        """Make a block's targets what the loss takes."""
        raise TypeError(f"{type(self).__name__} must say what its targets are")

    def _problem_of_blocks(
        self,
        table: BlockTable,
        declared: dict[str, Any],
        columns: ColumnsPlan | None,
        rng: np.random.Generator,
    ) -> tuple[BlockProblem, ColumnMap | None, float]:
        """Pose the problem of rows in blocks as the models are to see them.

        With the released map of the columns, if one is paid for, and the share of the rows that
        were longer than declared before it.
        """
        coded = table.coded(self._target_step())
        if columns is None:
            problem = BlockProblem(coded, **declared)
            self._say_beyond(problem.targets_beyond)
            return problem, None, problem.clipped_share
        scale = released_map(table.numeric, columns, rng)
        problem = BlockProblem(coded.then(Mapped(scale)), **declared)
        self._say_beyond(problem.targets_beyond)
        (longer,) = table.numeric.reduce(Longer(self._row_norm))
        return problem, scale, float(longer[0]) / problem.n

    def _say_beyond(self, share: float) -> None:
        """Warn if more than 1 % of the targets of a table in blocks are beyond their bounds."""

    def _posed(self, table: UnreadTable | BlockTable) -> Loss:
        """Loss of the problem that the table poses; reads no value where there is a ledger."""
        raise TypeError(f"{type(self).__name__} must say what its loss is")

    def _targets(self, table: UnreadTable) -> FloatArray:
        """Targets (n,) as the loss takes them."""
        raise TypeError(f"{type(self).__name__} must say what its targets are")

    def _public(self, table: UnreadTable | BlockTable) -> dict[str, Any]:
        """Fitted attributes that say nothing of a row."""
        return table.public()

    def _stated(self, guarantee: Guarantee) -> Guarantee:
        """State what the guarantee assumes of pipeline, fit, arithmetic and noise."""
        guarantee = computed_on(guarantee, backend_for())
        if guarantee.holds:
            steps = not_known_to_be_public(self)
            alone = f"{ONE_BY_ONE}, also by {'; '.join(steps)}" if steps else ONE_BY_ONE
            returned = may_fail("fit", charged=self.ledger is not None)
            guarantee = replace(guarantee, assumptions=(*guarantee.assumptions, alone, returned))
        if self.random_state is not None:
            return guarantee.with_seed()
        if not guarantee.holds:
            return guarantee
        return replace(guarantee, assumptions=(*guarantee.assumptions, *noise_assumptions()))

    def _charged(
        self, guarantee: Guarantee, note: str, parameters: dict[str, Any]
    ) -> Charge | None:
        """Charge what may be released; the curator's own look has no price to write down."""
        if self.ledger is None or not guarantee.holds:
            return None
        warn_of_repeated_records(self)
        ledger = self.ledger if isinstance(self.ledger, Ledger) else Ledger.open(self.ledger)
        return ledger.reserve(guarantee, note=note, parameters=parameters)

    def _generator(self) -> np.random.Generator:
        if self.random_state is None:
            return generator()
        return generator(check_random_state(self.random_state).randint(2**31, size=4).tolist())

    def _hold(self, fitted: dict[str, Any]) -> None:
        """Set the fitted attributes, and drop those of an earlier fit to another kind of table."""
        for name in ("feature_names_in_", "encoder_"):
            if name not in fitted and hasattr(self, name):
                delattr(self, name)
        for name, value in fitted.items():
            setattr(self, name, value)
