"""The dashboard as a Python object: the same in a notebook cell and under Voilà."""

import asyncio
import os
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rashomon_explorer.blocks import RowBlocks
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import panels
from rashomon_explorer.explorer.asked_table import asked_table
from rashomon_explorer.explorer.basket import Shop
from rashomon_explorer.explorer.cards import CARDS, ExactCard, FigureCard
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.gallery import Gallery
from rashomon_explorer.explorer.guard import LEDGER_READ, guarded, log_failures_to, report
from rashomon_explorer.explorer.on_screen import OnScreen
from rashomon_explorer.explorer.opened import as_data, is_outside, opened
from rashomon_explorer.explorer.renderer import FRAMES_A_SECOND
from rashomon_explorer.explorer.session import HOME_VARIABLE, Session, default_home
from rashomon_explorer.explorer.shell import Shell
from rashomon_explorer.explorer.single import SingleModel
from rashomon_explorer.explorer.state import Alert, ExplorerState
from rashomon_explorer.explorer.tuner import Tuner
from rashomon_explorer.explorer.views import VIEWS, Part, View
from rashomon_explorer.explorer.widgets import KernelWatch
from rashomon_explorer.schema import TableSchema

_LEDGER_SECONDS = 2.0

FIRST_DATA = "lending"
"""Data set on screen at first, so that a newcomer has only to press Draw."""


class Explorer(OnScreen):
    """See the set of almost equally good models, and draw from it with differential privacy.

    Parameters
    ----------
    shown : object, optional
        A data set, or rows in blocks, which are never held; a fitted Rashomon estimator or a set of
        models, whose models are shown at once;
        a fitted scikit-learn linear model, a pipeline that ends in one, or a list of fitted models,
        with their rows in ``data``: what follows from them is shown and nothing is bought.
    data : sklearn.utils.Bunch or (X, y), optional
        Rows, as `load_dataset` returns them, or as fitted models take them; without anything to
        show the page opens on the lending table.
    home : path, optional
        Folder of the ledgers; by default where ``rashomon-explorer`` was started, or the current
        folder.
    schema : TableSchema, str or path, optional
        Declaration of rows in blocks; without one it is proposed from a fixed random sample of
        them, and nothing has a guarantee before it is confirmed.
    name : str, optional
        Of rows in blocks and of their ledger; by default that of their folder.

    Attributes
    ----------
    widget : ipywidgets.Widget
        The page.
    state : ExplorerState
        What controls write and views read.
    cards : mapping of str to FigureCard
        The figures, each made when it is first seen or asked for.

    Raises
    ------
    TypeError
        If ``shown`` is something else; the message says what can be shown.

    Examples
    --------
    >>> from rashomon_explorer.datasets import load_dataset
    >>> explorer = Explorer(data=load_dataset("breast_cancer"))
    >>> explorer.plan.n, explorer.plan.n_draws
    (569, 1)
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
        said = {"schema": schema, "name": name}
        declared = {key: value for key, value in said.items() if value is not None}
        if declared and not any(isinstance(given, RowBlocks) for given in (shown, data)):
            raise TypeError(
                f"{' and '.join(declared)} is said of rows in blocks, row_blocks(...); other data "
                "have theirs with them, as load_csv(path, schema=...) makes them"
            )
        failed: Exception | None = None
        if shown is None and data is None:
            try:
                data = asked_table()
            except (DataError, ImportError) as error:  # told on the page, which goes on
                failed = error
        shown, data = as_data(shown, declared), as_data(data, declared, shown)
        first = data if shown is None else shown
        bring = None if first is None else opened(first, data)
        self.state = ExplorerState()
        self.session = Session(self.state, Path(home) if home is not None else default_home())
        if home is None and HOME_VARIABLE in os.environ:
            log_failures_to(self.session.home / "rashomon-explorer.log")
        self.shop = Shop(self.session)
        self.single = SingleModel(self.session)
        self.tuner = Tuner(self.session)
        self._follower: asyncio.Task[None] | None = None
        self._make_panels()
        # Of what is drawn here there are draws to see.
        kinds: tuple[type[FigureCard], ...] = (*CARDS, ExactCard) if is_outside(first) else CARDS
        self.cards = Gallery(self.session, kinds)
        self.renderers = self.cards.renderers
        self.session.together = self._held
        self.shell = self._page()
        self.widget = self.shell.widget
        with self._held():
            if bring is not None:
                bring(self.session)
            elif failed is not None:
                report(self.state, "Opening the table", failed)
            else:
                self.data_panel.name.value = FIRST_DATA
            if self.state.rashomon_set is not None or is_outside(first):
                self.state.page = "set"
            for renderer in self.renderers:
                renderer.mark()
        self._watcher = self._start(self._watch())

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        try:
            return asyncio.get_running_loop().create_task(work)
        except RuntimeError:  # a script has no loop, and nobody looks on
            work.close()
            return None

    @contextmanager
    def _held(self) -> Iterator[None]:
        with ExitStack() as holds:
            for renderer in self.renderers:
                holds.enter_context(renderer.held())
            yield

    def _make_panels(self) -> None:
        self.alert_panel = panels.AlertPanel(self.state)
        self.kernel_watch = KernelWatch()
        self.data_panel = panels.DataPanel(self.session)
        self.model_panel = panels.ModelPanel(self.state)
        self.model_panel.questions.redeclare = self.session.redeclare
        self.plan_panel = panels.PlanPanel(self.state)
        self.budget_panel = panels.BudgetGauge(self.state)
        self.draw_panel = panels.DrawPanel(
            self.session, start=self.draw, dials=self.model_panel.dials
        )
        self.numbers_panel = panels.NumbersPanel(self.state)
        self.models_panel = panels.ModelsPanel(self.session)
        self.models_panel.compare = self._side_by_side
        self.selection_panel = panels.SelectionPanel(self.state)
        self.people_headline = panels.PeopleHeadline(self.session)
        self.people_table = panels.PeopleTable(self.session)
        self.basket_panel = panels.BasketPanel(self.shop)
        self.take_panel = panels.TakePanel(self.shop)
        self.take_panel.draws = self.basket_panel.taken
        self.ledger_panel = panels.LedgerPanel(self.session)
        self.goal_panel = panels.GoalPanel(self.single, self.draw_panel.widget)
        self.goal_panel.made = partial(self.show, "one model panel")
        self.one_panel = panels.OneModelPanel(self.single)
        self.tuning_panel = panels.TuningPanel(self.tuner)
        self.tuning_panel.drawn = partial(self.show, "penalties")
        self.bar = panels.TopBar(self.session, self.numbers_panel.view, self.take_panel.saver)

    def _page(self) -> Shell:
        parts: dict[str, Part] = {
            "data panel": self.data_panel,
            "plan panel": self.plan_panel,
            "budget panel": self.budget_panel,
            "numbers panel": self.numbers_panel,
            "models panel": self.models_panel,
            "selection panel": self.selection_panel,
            "people headline": self.people_headline,
            "people table": self.people_table,
            "basket panel": self.basket_panel,
            "take panel": self.take_panel,
            "ledger panel": self.ledger_panel,
            "one model panel": self.one_panel,
            "tuning panel": self.tuning_panel,
        }
        return Shell(
            self.state,
            [View(plan, parts, self.cards) for plan in VIEWS],
            bar=self.bar.widget,
            rail=panels.Rail(self.state, self.model_panel, self.goal_panel).widget,
            chip=panels.SelectionChip(self.state).widget,
            above=[
                self.alert_panel.widget,
                self.kernel_watch,
                self.draw_panel.said,
                self.numbers_panel.stale,
            ],
        )

    def show(self, name: str) -> None:
        """Turn to the view in which a figure or panel stands.

        Parameters
        ----------
        name : str
            A key of `cards`, such as ``"losses"``.

        Raises
        ------
        KeyError
            If no view has it.
        """
        self.shell.bring(name)

    def _side_by_side(self) -> None:
        self.show("pair" if trees_in(self.state.rashomon_set) is None else "trees")

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    def draw(self) -> None:
        """Do what the Draw button does.

        Inside an event loop it returns at once and the page follows the draws; without one it
        returns when the draws are made. Many columns are first tried on simulated rows: inside an
        event loop in a worker, so that the page stays alive, and what is refused after that is
        told on the page.

        Raises
        ------
        BudgetExceededError
            If the price is not left; nothing is read and nothing is spent.
        """
        if _in_a_loop() and self.session.foretell():
            self._follower = self._start(self._draw_when_told())
        else:
            self._draw()

    def _draw(self) -> None:
        with self._held():
            job = self.session.prepare()
            if self.state.page in ("data", "plan"):
                self.state.page = "set"
            self._follower = self._start(self._follow())
            if self._follower is None:
                job.run()
                self.session.pump()
            else:
                job.start()

    def stop(self) -> None:
        """Do what the Stop button does: keep the draws so far."""
        self.session.stop()

    async def settled(self) -> None:
        """Wait until no draw is under way and every figure is up to date."""
        while self._follower is not None and not self._follower.done():
            await asyncio.sleep(0.01)
        for renderer in self.renderers:
            await renderer.settled()

    async def _draw_when_told(self) -> None:
        """Wait for the trial on simulated rows; then draw, or tell on the page why not."""
        me = asyncio.current_task()
        # Where Stop and Draw are pressed at once, the draw is its newest follower's.
        while self._follower is me and self.session.foretelling:
            await asyncio.sleep(1 / FRAMES_A_SECOND)
        if self._follower is me and self.session.foretold():
            guarded(self.state, "Drawing", self.draw)()

    async def _follow(self) -> None:
        try:
            while self.session.pump():
                await asyncio.sleep(1 / FRAMES_A_SECOND)
        except Exception as error:
            self.state.phase = "failed"
            report(self.state, "Showing the draws", error)

    async def _watch(self) -> None:
        """Notice what other processes and tabs charge."""
        told = None
        while self.widget.comm is not None:
            await asyncio.sleep(_LEDGER_SECONDS)
            told = self._look(told)

    def _look(self, told: Alert | None) -> Alert | None:
        """Read the ledger; say once that it cannot be read, and take that back when it can."""
        try:
            self.session.refresh_account()
            self.session.catch_up()
        except Exception as error:
            if told is None or told.reason != str(error):
                report(self.state, LEDGER_READ, error)
                return self.state.alert
            return told
        if told is not None and self.state.alert is told:
            self.state.alert = None
        return None


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
