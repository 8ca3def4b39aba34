"""Panels of the release: the basket of aggregates, and the files to take away."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets
import numpy as np
from sklearn.utils import Bunch

from rashomon_explorer._utils.formatting import left_text
from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.explorer import family
from rashomon_explorer.explorer.messages import report as report_failure
from rashomon_explorer.explorer.paid import Quote
from rashomon_explorer.explorer.panels.card import Panel, row, slider, styled
from rashomon_explorer.explorer.panels.draw import PaidPanel
from rashomon_explorer.explorer.panels.plan import set_cost
from rashomon_explorer.explorer.release import AGGREGATES, Aggregate, AggregateRelease, Basket
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit, Making, ToPicture
from rashomon_explorer.plots.text import cost_text, number, percent, plural, sentence

_ALL, _SELECTED = "all", "selected"
_NO_GROUPS = "no groups"
_HEADINGS = [
    ["Aggregate of the private rows", "Noisy statistics to release with the models"],
    ["± 95 %", "The noise added before release stays within ± this with probability 95 %"],
    ["share", "Weight of the aggregate, and its share of the privacy cost"],
]
_UNSTATED = (
    "models selected by private figures cannot be released: confirm that they were not, or take "
    "all models"
)
_EMPTY = (
    "The models can be exported at no further cost. Tick statistics of the private rows to release "
    "with them."
)


class BasketPanel(PaidPanel):
    """Panel that chooses aggregates, shows their privacy cost and releases them."""

    title = "Basket"
    needs = (*PaidPanel.needs, "rashomon_set", "selection")

    def __init__(self, action: AggregateRelease) -> None:
        self.aggregates = action
        self.which = styled(ui.ToggleButtons(options=[("All models", _ALL)]), "rx-which")
        self.stated = ui.Checkbox(
            description="I selected them without looking at figures marked “not private”",
            indent=False,
        )
        self.group = ui.Dropdown(description="Groups", options=[_NO_GROUPS])
        self.table = ui.ChoiceTable(label="Aggregates", headings=_HEADINGS)
        hint = "A larger ε means less noise. The button shows what the ledger is charged."
        label, unit = "ε of the noise", "larger: less noise"
        self.epsilon = slider(label, unit, hint, (0.01, 10.0), 0.5, "log")
        choices = row([self.which, self.group], "rx-basket-of")
        parts = [choices, self.stated, self.table, self.epsilon]
        super().__init__(action, before=parts, kind="rx-basket")
        for control in (self.which, self.stated, self.group, self.epsilon):
            control.observe(lambda _: self.update(), "value")
        self.table.observe(lambda _: self.update(), "ticked")
        action.observers.append(self._clear_at_end)

    @property
    def draws(self) -> tuple[int, ...] | None:
        return tuple(self.state.selection) if self.which.value == _SELECTED else None

    @property
    def group_column(self) -> str:
        return "" if self.group.value == _NO_GROUPS else str(self.group.value)

    def lines(self) -> tuple[str, ...]:
        return (
            "from rashomon_explorer.release import release",
            "basket = explorer.basket_panel.basket()",
            "basket.plan.table()",
            "# release(basket.models, explorer.rows, explorer.targets, ledger=explorer.ledger, "
            "**basket.budget)",
            "explorer.ledger.epsilon_after(basket.plan.guarantee) - explorer.ledger.spent()",
        )

    def basket(self) -> Basket:
        draws, ticked = self.checked_draws(), dict(self.table.ticked)
        return self.aggregates.basket(
            tuple(name for name in AGGREGATES if name in ticked),
            self.epsilon.value,
            weights=ticked,
            draws=draws,
            group=self.group_column,
        )

    def checked_draws(self) -> tuple[int, ...] | None:
        if self.draws is not None and not self.stated.value:
            raise CuratorOnlyError(_UNSTATED)
        return self.draws

    def refresh(self) -> None:
        self._offer()
        ui.display(self.which, len(self.which.options) > 1)
        ui.display(self.group, len(self.group.options) > 1)
        ui.display(self.stated, self.draws is not None)
        action = self.aggregates
        try:
            basket, action.why_not = self.basket(), ""
            _ = basket.plan  # raises where the noise of a share would hide the answer
        except (DataError, CuratorOnlyError, ValueError) as error:
            action.selected, action.why_not = None, str(error)
            self.table.rows = [] if self.state.rashomon_set is None else self.table.rows
        else:
            shares = {k: share for k, share in self.table.ticked.items() if not basket.why_not(k)}
            if len(shares) < len(self.table.ticked):
                self.table.ticked = shares
                return  # the change of `ticked` refreshes the panel
            self.table.rows = _rows(basket)
            action.selected = basket
        self.table.disabled = self.epsilon.disabled = action.task.running or self.state.busy
        super().refresh()

    def price_texts(self, quote: Quote) -> tuple[str, str]:
        empty = quote.cost is None and not quote.unavailable
        return (_EMPTY, _EMPTY) if empty else super().price_texts(quote)

    def _offer(self) -> None:
        count = len(self.state.selection)
        selected = [(f"The {plural(count, 'selected one')}", _SELECTED)] if count else []
        options = [("All models", _ALL), *selected]
        if list(self.which.options) != options:
            was = self.which.value
            self.which.options = options
            self.which.value = was if was in dict(options).values() else _ALL
        groups = [_NO_GROUPS, *self.aggregates.groups]
        if list(self.group.options) != groups:
            self.group.options = groups
            self.group.value = groups[-1]

    def _clear_at_end(self) -> None:
        if not self.action.task.running:
            self.table.ticked = {}


_TOO_NOISY = 0.1  # noise of a share above which it says too little


def _rows(basket: Basket) -> list[dict[str, Any]]:
    plan = basket.plan
    costs = [] if plan is None else plan.costs
    by_name = dict(zip(basket.names, zip(basket.queries, costs, strict=False), strict=False))

    def listed(name: str, entry: Aggregate) -> dict[str, Any]:
        why, noise, share = basket.why_not(name), "", ""
        if plan is not None and name in by_name:
            query, cost = by_name[name]
            share = percent(cost.share)
            half = cost.noise.quantile(0.95)
            _, low, high, *_ = query.coordinates(plan.public)
            is_share = not entry.in_rows and np.all(low == 0) and np.all(high == 1)
            if not entry.unitless:  # for gaps, noise is added to sums over rows
                noise = f"± {number(half, 2, 'up')}{' rows' * entry.in_rows}"
            if name in plan.hidden or (is_share and half > _TOO_NOISY):
                noise = f"{noise}: too noisy to tell".removeprefix(": ")
        return {
            "name": name,
            "group": entry.group,
            "title": entry.title,
            "definition": why or entry.query(basket.models).definition,
            "why": why,
            "noise": noise,
            "share": share,
        }

    return [listed(name, entry) for name, entry in AGGREGATES.items()]


_HTML, _ZIP = "text/html", "application/zip"
_BUNDLE = "Models, guarantee, released aggregates, definitions, figures and report, in one zip file"


class TakePanel(Panel):
    """Receipt of the release, and buttons that save files."""

    title = "Receipt and bundle"
    needs = ("rashomon_set", "releases", "account", "view", "phase", "data", "set_number")

    def __init__(self, aggregates: AggregateRelease) -> None:
        self.aggregates = aggregates
        self.state = aggregates.state
        self.draws: Callable[[], tuple[int, ...] | None] = lambda: None
        self.receipt = styled(ui.HTML(), "rx-receipt")
        self.bundle = self._download("Save the bundle", _BUNDLE, self._bundle, primary=True)
        self.saver = self._download("Save", _BUNDLE, self._bundle)
        self.release_report = self._download(
            "Report for release",
            "One HTML file of the models and released aggregates",
            self._release_report,
        )
        self.curator_report = self._download(
            "Report for curators",
            "One HTML file that includes private numbers: not for release",
            self._curator_report,
            epoch=lambda: self.state.epoch,
        )
        self.author = ipywidgets.Text(
            description="Author", placeholder="printed on the reports", continuous_update=False
        )
        self.author.observe(lambda _: setattr(aggregates, "author", self.author.value), "value")
        buttons = row([self.bundle, self.release_report, self.curator_report], "rx-take")
        super().__init__(self.state, buttons, self.author, self.receipt)

    def _download(
        self, label: str, hint: str, prepare: Callable[[], Making], **options: Any
    ) -> Download:
        failed = partial(report_failure, self.state, f"“{label}”")
        return Download(label, hint, prepare, failed, **options)

    def lines(self) -> tuple[str, ...]:
        rows = "explorer.rows, explorer.targets"
        if self.aggregates.session.is_chunked:
            rows = "explorer.chunks"
        if self.state.audit is not None:
            return ("explorer.state.audit.report('audit.html')",)
        return (
            "from rashomon_explorer.report import report",
            "explorer.rashomon_set.release().save('models.npz')",
            "report(explorer.rashomon_set.release(), 'release.html')",
            f"report(explorer.rashomon_set, 'curator.html', {rows})",
        )

    def refresh(self) -> None:
        why = self._why_not()
        for button in (self.bundle, self.saver, self.release_report):
            button.disabled = bool(why)
        for button in (self.bundle, self.saver, self.release_report, self.curator_report):
            button.of = f"{self.state.table_number}:{self.state.set_number}"
        drawn = self.state.rashomon_set
        nothing = drawn is None or not drawn.n_draws or self.state.busy
        self.curator_report.disabled = nothing or self.state.view == "release"
        refusal = f'<p class="rx-note">{escape(sentence(why))}</p>'
        self.receipt.value = refusal if why else self._purchases_html()

    def _why_not(self) -> str:
        try:
            self.aggregates.models()
        except (DataError, CuratorOnlyError) as error:
            return str(error)
        return ""

    def _purchases_html(self) -> str:
        models, account = self.state.rashomon_set, self.state.account
        cost = set_cost(self.state)
        lines = [f"{plural(models.n_draws, 'model')}: <b>{cost}</b>"]
        for sale in self.state.releases:
            when = f"{sale.at:%d %b %H:%M}"
            added = f"<b>{cost_text(sale.adds)}</b>"
            lines.append(f"{escape(sale.what)}: {added}, charge {sale.released.charge}, {when}")
        if not self.state.releases:
            lines.append("No aggregates were released for this set.")
        if account is not None and account.exists:
            lines.append(f"Remaining budget: <b>ε = {left_text(account.left)}</b>")
        band = '<span class="rx-band rx-paid-band">released</span>'
        return f"{band}<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"

    def _bundle(self) -> Making:
        contents = self.aggregates.contents(self.draws())

        def make() -> ToPicture:
            # Imported lazily: a page that saves nothing does not need it.
            from rashomon_explorer.explorer.bundle import bundle, figures, in_light

            def finish(pictures: Mapping[str, bytes]) -> FileInTransit:
                return FileInTransit(
                    f"{contents.table}-release.zip", bundle(contents, pictures), _ZIP
                )

            light_figures = {name: in_light(figure) for name, figure in figures(contents).items()}
            return ToPicture(light_figures, finish)

        return make

    def _release_report(self) -> Making:
        contents = self.aggregates.contents(self.draws())

        def make() -> FileInTransit:
            from rashomon_explorer.explorer.bundle import release_page

            return FileInTransit(
                f"{contents.table}-release.html", release_page(contents).encode(), _HTML
            )

        return make

    def _curator_report(self) -> Making:
        """Prepare the report that reads the rows; not available in the release view."""
        state, session = self.state, self.aggregates.session
        models, rows, targets = state.rashomon_set, session.rows, session.targets
        if models is None or state.view == "release":
            raise CuratorOnlyError("this report contains private numbers: switch to Curator")
        audit, psi = state.audit, float(state.audit_psi)
        choices = [] if state.choice is None else [state.choice]
        is_readable = family.may_be_released(models)
        has_rows = rows is not None and is_readable
        data, author = state.data, self.aggregates.author
        table = "models" if data is None else str(data.name)
        account = session.refresh_account()
        ledger = account.path if account is not None and account.exists else None

        def inputs() -> tuple[Any, Any, Any]:
            """Rows, targets and groups; of chunked rows the report reads all that it sums."""
            groups = None if data is None else _groups(data)
            if not session.is_chunked:
                return rows, targets, groups
            return session.chunks, None, None if groups is None else str(groups.name)

        def make() -> FileInTransit:
            from rashomon_explorer.explorer.bundle import described
            from rashomon_explorer.report import curator_report

            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "report.html"
                if audit is not None:
                    at_psi = audit.at(psi) if audit.answers.any_psi else audit
                    at_psi.report(path, choices=choices)
                    return FileInTransit(f"{table}-audit.html", path.read_bytes(), _HTML)
                rows, targets, groups = inputs()
                curator_report(
                    models,
                    path,
                    rows if has_rows else None,
                    targets if has_rows else None,
                    groups=groups if has_rows else None,
                    ledger=ledger,
                    **described(table, None if data is None else data.get("schema"), author),
                )
                return FileInTransit(f"{table}-curator.html", path.read_bytes(), _HTML)

        return make


def _groups(data: Bunch) -> Any:
    sensitive = data.sensitive
    return sensitive.iloc[:, 0] if len(sensitive.columns) else None
