"""Explorer: the page, its frame, its inputs and its actions."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import ipywidgets
import traitlets
from IPython.display import display
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer import sets
from rashomon_explorer._utils.assets import HOME_VARIABLE, TABLE_VARIABLE
from rashomon_explorer._utils.containers import is_frame
from rashomon_explorer.audits import Audit, audit
from rashomon_explorer.audits.result import opens_audits
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.csv import is_text_table
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import background, drawing, family, messages, paid, selection
from rashomon_explorer.explorer.panels import budget, draw, fitting, people, release, settings
from rashomon_explorer.explorer.panels.card import AlertPanel, SelectionChip, column, row, styled
from rashomon_explorer.explorer.panels.choose import ChoicePanel
from rashomon_explorer.explorer.panels.data import DataPanel
from rashomon_explorer.explorer.panels.models import ModelsPanel
from rashomon_explorer.explorer.panels.plan import NumbersPanel, PlanPanel
from rashomon_explorer.explorer.release import AggregateRelease
from rashomon_explorer.explorer.session import Session, default_home
from rashomon_explorer.explorer.state import Alert, ExplorerState
from rashomon_explorer.explorer.table_files import chunked_dataset, last_table, text_dataset
from rashomon_explorer.explorer.views import VIEWS, FigureRegistry, View, ViewPart, WidgetPart
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.mechanisms.langevin.states import StatesDetails
from rashomon_explorer.networks.sets import AnyRelease
from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.registry import FigureSpec
from rashomon_explorer.rows import ChunkedRows, chunk_rows
from rashomon_explorer.rows.dask import is_dask

_HERE = Path(__file__).parent
_STYLE = "".join(
    (_HERE / name).read_text(encoding="utf-8") for name in ("style.css", "shell.css", "phone.css")
)
_SKIP = '<a class="rx-skip" href="#rx-draw">Skip to Draw</a>'


_OFFERED = ("family", "rashomon_set", "audit", "view", "chains", "path", "plan")


class Shell:
    """Frame of the page: top bar, sidebar, and one view at a time."""

    def __init__(
        self,
        state: ExplorerState,
        views: Sequence[View],
        *,
        bar: ipywidgets.Widget,
        rail: ipywidgets.Widget,
        chip: ipywidgets.Widget,
        above: Sequence[ipywidgets.Widget],
    ) -> None:
        self.state = state
        self.views = {view.plan.name: view for view in views}
        self.tabs = ui.Tabs([(view.plan.name, view.plan.title) for view in views], label="Views")
        traitlets.link((state, "page"), (self.tabs, "value"))
        self._offered: tuple[object, ...] = ()
        state.observe(lambda _: self._offer(), [*_OFFERED])
        self._offer()
        state.observe(lambda _: self._turn(), "page")
        self._turn()
        links = row([self.tabs, chip], "rx-links")
        main = column([links, *above, *(view.widget for view in views)], "rx-main")
        body = styled(ui.Box([rail, main]), "rx-body")
        style = styled(ui.HTML(f"<style>{_STYLE}</style>"), "rx-style")
        skip = styled(ui.HTML(_SKIP), "rx-skips")
        self.widget = ui.own_layout(column([style, skip, bar, body], "rx-app"))

    def _turn(self) -> None:
        for name, view in self.views.items():
            view.show(on_screen=name == self.state.page)

    def _offer(self) -> None:
        state, models = self.state, self.state.rashomon_set
        families = family.families_on_screen(state)
        has_models = models is not None and not state.has_no_guarantee
        is_path, was_path = (
            isinstance(getattr(plan, "details", None), StatesDetails)
            for plan in (state.plan, getattr(models, "plan", state.plan))
        )
        there = {"models": has_models, "drawn": has_models, "chains": bool(state.chains)}
        there |= {"path": state.path is not None, "choices": state.audit is not None}
        answered = family.answered_families(state)
        planned = {"path_width": is_path, "promise": not is_path, "bounds": not was_path}

        def offered(part: ViewPart | FigureSpec) -> bool:
            """Whether a card has something to show; another takes its place if not."""
            if not isinstance(part, FigureSpec):
                return has_models == getattr(part, "of_models", has_models)
            shown = state.view in part.audience and part.suits(families)
            walks = "path" in part.needs and there["path"]  # it is shown while it is made
            walks |= "settings" in part.needs and part.suits(answered)  # or before any draw
            ready = walks or all(there.get(name, True) for name in part.needs if name != "path")
            return shown and ready and planned.get(part.name, True)

        if self._offered != (families, there, planned, answered, state.view):
            self._offered = families, there, planned, answered, state.view
            for view in self.views.values():
                view.offer(offered)

    def bring(self, name: str) -> None:
        for page, view in self.views.items():
            if view.bring(name):
                self.state.page = page
                return
        raise KeyError(f"no view has {name!r}")


def _read(path: str, doc: str) -> Any:
    return property(attrgetter(path), doc=doc)


class SessionView:
    """Read access to the data set, ledger, plan and models of the page."""

    state: ExplorerState
    session: Session

    estimator = _read("session.estimator", "The fitted estimator whose set is on screen, or None.")
    rashomon_set = _read("state.rashomon_set", "The draws on screen, or None.")
    guarantee = _read("session.guarantee", "Privacy guarantee of the draws on screen, or None.")
    plan = _read("state.plan", "Plan of the current settings, or None without data.")
    constants = _read(
        "session.constants",
        "Public constants of the draws on screen; of the current settings before a draw.",
    )
    ledger = _read("session.ledger", "The data set's ledger, or None before its first draw.")
    data = _read("state.data", "The data set, or None.")
    rows = _read(
        "session.rows",
        "Features of the data set, scaled to the unit ball by public bounds, or None.",
    )
    chunks = _read(
        "session.chunks",
        "All rows in the encoding of the models on screen, if the table is chunked; else None.",
    )
    targets = _read(
        "session.targets", "Targets of the data set in the coding of the models on screen, or None."
    )
    selected = _read(
        "session.picked",
        "Selected ``models``, ``rows`` and ``targets``; all of them without a selection.",
    )
    choice = _read("state.choice", "The good model of the audit that was chosen, or None.")
    exact = _read("session.exact", "Exact results for the whole set on screen (curator).")
    tree_answers = _read(
        "session.tree_answers",
        "Exact results for all sparse trees of the current settings (curator).",
    )

    @property
    def budget(self) -> tuple[float, float]:
        account = self.state.account
        return self.state.planned_budget if account is None else (account.budget, account.delta)


_LEDGER_SECONDS = 2.0

FIRST_DATA = "lending"  # data set that the page shows first

_NO_KERNEL = (
    "<style>@keyframes rx-late { from { visibility: hidden } } .rx-no-kernel { animation: rx-late "
    "12s step-end } :root:has(.rx-app) .rx-no-kernel { display: none }</style>"
    '<p class="rx-no-kernel">The dashboard needs a running Python kernel, in JupyterLab, Voilà or '
    "from the command rashomon-explorer. Figures of the plot_ functions need none.</p>"
)


@opens_audits
class Explorer(SessionView):
    """Explore the set of almost equally good models; draw from it with differential privacy.

    Parameters
    ----------
    shown : object, optional
        A data set or chunked rows; a fitted Rashomon estimator or a set of models, which is shown
        at once; or a fitted scikit-learn linear model, a pipeline that ends in one, or a list of
        fitted models, with their rows in ``data``. For such models the page shows what follows
        from them, and charges nothing.
    data : sklearn.utils.Bunch or (X, y), optional
        Rows as `load_dataset` returns them, or as fitted models take them. Without ``shown`` and
        ``data``, the page opens on the lending table.
    home : path, optional
        Folder of the ledgers. Default: the folder in which ``rashomon-explorer`` was started, or
        the current folder.
    schema : TableSchema, str or path, optional
        Schema of chunked rows. Without one, a schema is proposed from a fixed random sample, and
        nothing has a guarantee until the schema is confirmed.
    name : str, optional
        Name of chunked rows and of their ledger; the default is the name of their folder.

    Attributes
    ----------
    widget : ipywidgets.Widget
        The page.
    state : ExplorerState
        Shared state: controls write it and views read it.
    cards : mapping of str to FigureCard
        The figures, each created when it is first shown or accessed.

    Raises
    ------
    TypeError
        If ``shown`` has another type; the message lists the accepted types.

    Examples
    --------
    >>> from rashomon_explorer.data import load_dataset
    >>> explorer = Explorer(data=load_dataset("breast_cancer"))
    >>> explorer.plan.n, explorer.plan.n_draws
    (569, 400)
    """

    def __init__(
        self,
        shown: Any = None,
        data: Any = None,
        home: str | Path | None = None,
        *,
        schema: TableSchema | str | os.PathLike[str] | None = None,
        name: str | None = None,
    ) -> None:
        options = {"schema": schema, "name": name}
        declared = {key: value for key, value in options.items() if value is not None}
        if declared and not any(isinstance(source, ChunkedRows) for source in (shown, data)):
            raise TypeError(
                f"{' and '.join(declared)} can be given only for chunked rows, chunk_rows(...); "
                "other data have their own, as load_csv(path, schema=...) returns them"
            )
        failed: Exception | None = None
        if shown is None and data is None:
            try:
                data = table_from_environment()
            except (DataError, ImportError) as error:  # shown as an alert; the page still opens
                failed = error
        shown, data = as_data(shown, declared), as_data(data, declared, shown)
        first = data if shown is None else shown
        bring = None if first is None else coerce_input(first, data)
        self.state = ExplorerState()
        self.session = Session(self.state, Path(home) if home is not None else default_home())
        if home is None and HOME_VARIABLE in os.environ:
            messages.log_failures_to(self.session.home / "rashomon-explorer.log")
        self.drawing = drawing.SetDraw(self.session)
        self.aggregates = AggregateRelease(self.session)
        self.single = paid.SingleModel(self.session)
        self._make_panels()
        self.cards = FigureRegistry(self.session, FIGURES.values())
        self.renderers = self.cards.renderers
        self._last_table: tuple[str, ...] = ()  # the last one, if it is shown
        self.session.together = self._hold_redraws
        self.shell = self._page()
        self.widget = self.shell.widget
        with self._hold_redraws():
            if bring is not None:
                bring(self.session)
            elif failed is not None:
                messages.report(self.state, "Opening the table", failed)
            else:
                self._last_table = (last_table(self.session.home),)
                self._reopen()
            if self.state.rashomon_set is not None or is_external_model(first):
                self.state.page = "set"
            for renderer in self.renderers:
                renderer.mark()
        self._runs = ""
        self.state.observe(lambda _: self._show_run(), ["chains", "path", "phase"])
        self._watcher = background.BackgroundTask("reading the ledger")
        self._watcher.spawn(self._watch)

    @contextmanager
    def _hold_redraws(self) -> Iterator[None]:
        with ExitStack() as holds:
            for renderer in self.renderers:
                holds.enter_context(renderer.batched())
            yield

    def _make_panels(self) -> None:
        self.alert_panel = AlertPanel(self.state)
        self.kernel_watch = ui.KernelWatch()
        self.introduction = WidgetPart(ui.Introduction())
        self.data_panel = DataPanel(self.session)
        self.fitting_panel = fitting.FittingPanel(self.session)
        self.model_panel = settings.ModelPanel(self.state)
        self.model_panel.questions.redeclare = self.session.redeclare
        self.plan_panel = PlanPanel(self.state)
        self.budget_panel = budget.BudgetGauge(self.state, self.plan_panel.mechanisms)
        self.draw_panel = draw.DrawPanel(self.drawing, self.model_panel.dials)
        self.numbers_panel = NumbersPanel(self.state)
        self.models_panel = ModelsPanel(self.session)
        self.models_panel.compare = lambda: self.show(
            "pair" if family.trees_in(self.state.rashomon_set) is None else "trees"
        )
        self.people_headline = people.PeopleHeadline(self.session)
        self.people_table = people.PeopleTable(self.session)
        self.choice_panel = ChoicePanel(self.session)
        self.basket_panel = release.BasketPanel(self.aggregates)
        self.take_panel = release.TakePanel(self.aggregates)
        self.take_panel.draws = self.basket_panel.checked_draws
        self.ledger_panel = budget.LedgerPanel(self.session)
        self.start_panel = draw.StartPanel(self.draw_panel)
        self.goal_panel = draw.GoalPanel(self.single, self.draw_panel)
        self.single.shown = partial(self.show, "one model panel")
        self.one_model_panel = draw.OneModelPanel(self.state)
        self.bar = budget.TopBar(self.session, self.numbers_panel.view, self.take_panel.saver)

    def _page(self) -> Shell:
        named = [name for plan in VIEWS for slot in (*plan.slots, plan.strips) for name in slot]
        panels = [name for name in named if name not in FIGURES]
        parts: dict[str, ViewPart] = {
            name: getattr(self, name.replace(" ", "_")) for name in panels
        }
        return Shell(
            self.state,
            [View(plan, parts, self.cards) for plan in VIEWS],
            bar=self.bar.widget,
            rail=settings.Rail(
                self.state, self.fitting_panel, self.model_panel, self.goal_panel
            ).widget,
            chip=SelectionChip(self.state).widget,
            above=[
                self.alert_panel.widget,
                self.kernel_watch,
                self.draw_panel.phone_status,
                self.numbers_panel.stale,
            ],
        )

    def show(self, name: str) -> None:
        """Switch to the view that contains a figure or panel.

        Parameters
        ----------
        name : str
            A key of `cards`, such as ``"losses"``.

        Raises
        ------
        KeyError
            If no view contains it.
        """
        self.shell.bring(name)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = self.widget._repr_mimebundle_(**kwargs)
        return {"text/html": _NO_KERNEL, **bundle} if isinstance(bundle, dict) else bundle

    def _ipython_display_(self) -> None:
        """Display the page, and a line that stays where no widget appears, as in an HTML file."""
        display({"text/html": _NO_KERNEL, "text/plain": ""}, raw=True)
        display(self.widget)

    def _show_run(self) -> None:
        """Show what runs, a path on the map or chains, and the models when it has ended."""
        runs = ""
        if self.state.spent:
            runs = "map" if self.drawing.follows_path else "chains" if self.state.chains else ""
        if runs != self._runs and self.state.page == "set":
            self._runs = runs
            trees = family.trees_in(self.state.rashomon_set)
            self.show(runs or ("map" if trees is None else "losses"))

    def draw(self) -> None:
        """Do what the Draw button does.

        Inside an event loop, return at once and let the page follow the draws; otherwise, return
        after the last draw. With many columns, the sampler is first tested on simulated rows.
        Inside an event loop this test runs in a worker thread, and a later refusal is shown on
        the page.

        Raises
        ------
        BudgetExceededError
            If the privacy cost exceeds the remaining budget; nothing is read or spent.
        """
        self.drawing.start()

    def stop(self) -> None:
        """Do what the Stop button does: end the draw and keep the models so far."""
        self.drawing.stop()

    async def wait_until_idle(self) -> None:
        """Wait until no draw is running and every figure is up to date."""
        await self.drawing.wait_until_idle()
        for renderer in self.renderers:
            await renderer.wait_until_idle()

    async def _watch(self) -> None:
        """Poll the ledger for charges by others, once a browser follows and misses no change."""
        await self.kernel_watch.seen.wait()
        self._show_last_table()
        alert = None
        while self.widget.comm is not None:
            alert = self._poll_ledger(alert)
            await asyncio.sleep(_LEDGER_SECONDS)

    def _reopen(self) -> None:
        if self.data_panel.reopen(FIRST_DATA):
            self.state.page = "data"

    def _show_last_table(self) -> None:
        """Show the table that was charged last since this page was made ready for a browser."""
        last = last_table(self.session.home)
        if self._last_table and last != self._last_table[0]:
            self._last_table = (last,)
            with self._hold_redraws():
                self._reopen()

    def _poll_ledger(self, alert: Alert | None) -> Alert | None:
        """Read the ledger; report a read error once, and clear the alert when it can be read."""
        try:
            self.session.refresh_account()
            self.session.catch_up()
        except Exception as error:
            if alert is None or alert.reason != str(error):
                messages.report(self.state, messages.LEDGER_READ, error)
                return self.state.alert
            return alert
        if alert is not None and self.state.alert is alert:
            self.state.alert = None
        return None


_LINEAR = (LogisticRegression, Ridge, LinearRegression)
_KNOWN = (
    "a data set (Bunch), chunked rows (chunk_rows(...)), a fitted RashomonClassifier, "
    "RashomonRegressor, RashomonTreeClassifier, RashomonNetworkClassifier or …Regressor, a "
    "RashomonSet, a PredictorSet, an Audit, a fitted LogisticRegression, Ridge or "
    "LinearRegression, a Pipeline that ends in one, or a list of fitted models"
)


def coerce_input(source: Any, data: Any = None) -> Callable[[Session], None]:
    last = source[-1] if isinstance(source, Pipeline) else source
    if isinstance(last, Bunch):
        return lambda session: session.choose(source)
    if isinstance(last, Audit):
        return lambda session: session.show_audit(source)
    if isinstance(last, selection.ESTIMATOR_TYPES):
        check_is_fitted(last)
        if data is not None and not isinstance(data, Bunch):
            raise TypeError(
                "data of a Rashomon estimator must be a Bunch, as load_csv returns, "
                f"got {type(data).__name__}"
            )
        return lambda session: session.show_fitted(source, data)
    if isinstance(last, sets.RashomonSet | sets.PredictorSet):
        if data is None or isinstance(data, Bunch):
            return lambda session: session.show_set(source, data)
        rows, _ = _pair(data)
        return lambda session: session.show_set(source, None, rows=rows)
    if isinstance(last, _LINEAR):
        check_is_fitted(last)
        linear_audit = audit(source, *_pair(data))
        return lambda session: session.show_audit(linear_audit)
    if isinstance(last, list | tuple):
        rows, targets = _pair(data)
        models = sets.from_estimators(source, rows, targets)
        return lambda session: session.show_set(models, None, rows=rows)
    if isinstance(last, AnyRelease):
        raise TypeError(
            "Explorer needs a set with its private numbers, got a release: use "
            "rashomon_explorer.plots or report.release_report"
        )
    more = ": give it in a list, with its rows" if isinstance(last, BaseEstimator) else ""
    if is_frame(last):
        more = ": name its target, Explorer(chunk_rows(frame, target=...))"
    raise TypeError(f"Explorer shows {_KNOWN}, got {type(last).__name__}{more}")


def as_data(data: Any, declared: Mapping[str, Any], estimator: Any = None) -> Any:
    """Convert chunked rows to a data set of the page; return any other input unchanged."""
    if is_dask(data):
        raise TypeError(
            f"a Dask {type(data).__name__} needs a declared target: pass "
            "Explorer(chunk_rows(frame, target=...))"
        )
    if not isinstance(data, ChunkedRows):
        return data
    fitted_schema = getattr(estimator, "schema", None)
    if fitted_schema is not None:
        fitted_schema = TableSchema.from_schema_or_path(fitted_schema)
        fitted_schema = fitted_schema if fitted_schema.target is not None else None
    return chunked_dataset(data, declared.get("schema", fitted_schema), declared.get("name"))


def is_external_model(source: Any) -> bool:
    if isinstance(source, Audit):
        return source.kind == "exact"
    return isinstance(source[-1] if isinstance(source, Pipeline) else source, _LINEAR)


def _pair(data: Any) -> tuple[Any, Any]:
    if isinstance(data, Bunch):
        return data.X, data.y
    if isinstance(data, tuple) and len(data) == 2:
        return data
    raise TypeError(
        "fitted models need the rows that they were fitted to: Explorer(model, data=(X, "
        f"y)), got data of type {type(data).__name__}"
    )


def table_from_environment() -> Bunch | None:
    """Return the data set of ``rashomon-explorer --data``; None without that option."""
    text = os.environ.get(TABLE_VARIABLE)
    if not text:
        return None
    options = json.loads(text)
    if is_text_table(Path(options["path"])):
        return text_dataset(Path(options["path"]), options["target"], options["schema"])
    return chunked_dataset(chunk_rows(options["path"], target=options["target"]), options["schema"])
