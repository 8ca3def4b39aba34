"""The session of one user: the table, the set on screen, and imported sets. No widgets here."""

import math
import os
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from rashomon_explorer._utils.assets import DEMO_VARIABLE, HOME_VARIABLE
from rashomon_explorer.audits import Audit
from rashomon_explorer.exceptions import DataError, LedgerError
from rashomon_explorer.explorer import dataset, family, messages, selection, table_rows
from rashomon_explorer.explorer.background import batch_updates
from rashomon_explorer.explorer.set_store import SavedSets
from rashomon_explorer.explorer.state import NETWORKS, SETTINGS, ExplorerState
from rashomon_explorer.plots.text import plural
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.rows import ChunkedRows, Step
from rashomon_explorer.sets import CuratorSet, RashomonSet


def default_home() -> Path:
    home = Path(os.environ.get(HOME_VARIABLE) or Path.cwd())
    return Path(mkdtemp(prefix="demo-", dir=home)) if is_demo() else home


def is_demo() -> bool:
    """Whether the page is a public demo: shipped tables, no files, budgets of its own."""
    return DEMO_VARIABLE in os.environ


def refuse_in_demo(what: str) -> None:
    if is_demo():
        raise DataError(f"the demo {what}: install the package to use your own tables")


class Session(SavedSets):
    """One user's session: the data set and the set on screen, drawn or imported."""

    def __init__(self, state: ExplorerState, home: Path) -> None:
        super().__init__(state, home)
        state.observe(lambda _: self._follow_psi(), "psi")
        state.observe(self._follow_family, "family")

    def _follow_family(self, change: Any) -> None:
        """Draw as many models as the family begins with, unless another number was chosen."""
        if self.state.n_draws == family.DRAWS.get(change["old"]):
            self.state.n_draws = family.DRAWS[change["new"]]

    @property
    def guarantee(self) -> Guarantee | None:
        models = self.state.rashomon_set
        return None if models is None else models.guarantee

    @property
    def constants(self) -> Constants | None:
        return self.state.constants if self.state.rashomon_set is None else self._drawn

    @batch_updates
    def show_fitted(self, estimator: Any, data: Bunch | None = None) -> None:
        last = selection.check_fitted_estimator(estimator)
        if data is not None:
            encoder = None
            if table_rows.table_rows(data).is_chunked:
                encoder = table_rows.encoder_as_fitted(estimator, data)
                rows = table_rows.encoded_rows(encoder, data)
            else:
                rows = table_rows.rows_as_fitted(estimator, data)
            self.choose(data)
            self.rows, self._chunk_encoder = rows, encoder
        settings = last.get_params(deep=False)
        state = self.state
        self.estimator = estimator
        classes = {"n_classes": len(last.classes_)} if hasattr(last, "classes_") else {}
        self._drawn = dataset.public_constants(last, last.plan_.n, last.n_features_in_, **classes)
        state.family = family.family_of(last.rashomon_set_)
        with state.hold_trait_notifications():
            for name in set(SETTINGS) & set(settings):
                setattr(state, name, settings[name])
            state.in_view = 0
            state.set_number += 1
            state.rashomon_set = last.rashomon_set_
            state.plan = last.plan_
            state.n_drawn = last.rashomon_set_.n_draws
            state.drawn_settings = state.draw_settings()
            state.phase = "done"
        if settings["ledger"] is not None:
            self._ledger_path = Path(
                getattr(settings["ledger"], "path", settings["ledger"])
            ).absolute()
            self._ledgers_seen.add(self._ledger_path)
            if data is not None and not table_rows.table_rows(data).is_chunked:
                other_ledgers = dataset.other_charged_ledgers(
                    self._ledger_path, lambda: data.X, lambda: self._encoded
                )
                state.same_rows = messages.same_rows(other_ledgers, self._ledger_path.name)
        try:
            self.refresh_account()
        except LedgerError as error:  # the draws can be shown, but nothing can be charged
            state.account = None
            messages.report(state, messages.LEDGER_READ, error)
        if state.account is not None:
            state.charged = state.account.charged(last.guarantee_)
        self.set_status(f"Showing {plural(state.n_drawn, 'draw')} of a fitted estimator.")

    @batch_updates
    def show_set(self, models: Any, data: Bunch | None = None, *, rows: Any = None) -> None:
        if data is None:
            self.forget()
            self.rows = rows
        else:
            self.choose(data)
            table_rows.refuse_other_columns(models, self.rows)
        state = self.state
        planned = getattr(models, "plan", None) if isinstance(models, RashomonSet) else None
        law = None if planned is None else planned.law
        self._drawn = None if law is None else law.constants
        with state.hold_trait_notifications():
            state.set_number += 1
            state.rashomon_set = models
            state.n_drawn = models.n_draws
            state.charged = None
            if data is not None and state.account is not None:
                state.charged = state.account.charged(models.guarantee)
            state.phase = "done"
            if data is None:
                state.plan = planned
        self.set_status(f"Showing an imported set of {plural(models.n_draws, 'model')}.")

    @batch_updates
    def show_audit(self, audit: Audit, data: Bunch | None = None) -> None:
        """Show the good models of a fitted model; without ``data`` the audit's rows replace it."""
        state, model = self.state, audit.inputs.model
        if data is None:
            self.forget()
        else:
            self._check_free()
            self._clear()
        self.rows = audit.answers.model_rows if data is None else self._encoded
        self._chunk_encoder = None
        with state.hold_trait_notifications():
            state.rashomon_set, state.n_drawn = self._audit_models(audit), audit.models.n_draws
            state.phase = "done"
            state.audit_psi, state.audit = audit.psi, audit
        kind = "exact ranges" if audit.kind == "exact" else "sampled ranges, at least"
        rows = plural(len(model.table), "row")
        self.set_status("Nothing is charged.", f"{model.name} on {rows}: {kind}, not private.")

    def _audit_models(self, audit: Audit) -> Any:
        """Models of an audit; indicators of one column of the data set form one feature."""
        encoded_here = self.state.data is not None and self.rows is self._encoded
        if not encoded_here or not isinstance(audit.models, RashomonSet):
            return audit.models
        return audit.models.with_groups(self._encoder.feature_groups_)

    def _follow_psi(self) -> None:
        """Move the threshold of the models on screen to the slider's ψ."""
        audit, drawn = self.state.exact_audit, self.state.rashomon_set
        if self.state.audit is None and isinstance(drawn, CuratorSet) and not self.state.busy:
            if math.isfinite(drawn.least) and drawn.psi != self.state.psi:
                self.state.rashomon_set = drawn.rethreshold(self.state.psi)
        if audit is not None:
            self.state.audit_psi = self.state.psi
        if audit is not None and self.state.rashomon_set is not None:
            models, psi = self._audit_models(audit), self.state.psi
            self.state.rashomon_set = models if psi >= audit.psi else models.inside(psi)

    def draw_inputs(self, estimator: Any) -> tuple[Any, Any]:
        """Rows and targets of a draw; the rows on screen follow in the same encoding."""
        data, trees = self.state.data, family.draws_trees(self.state)
        self._drawn = dataset.public_constants(estimator, *table_rows.table_shape(data))
        self.rows = table_rows.tree_rows(data) if trees else self._encoded
        self._chunk_encoder = None
        table = table_rows.table_rows(data)
        if not table.is_chunked:
            raw = trees or self.state.family in NETWORKS
            return table.tree_inputs if raw else table.fit_inputs(self._encoded)

        def validated(watch: Step) -> ChunkedRows:
            """Check every row before a charge; raise an error that names an invalid row."""
            rows: ChunkedRows = table.encoded(watch=watch)
            return table.labelled if trees else rows

        return validated, None

    def keep_draw(self, fitted: Any) -> None:
        linear = isinstance(fitted.rashomon_set_, RashomonSet)
        self.estimator = make_pipeline(self._encoder, fitted) if linear else fitted
        self._keep()
