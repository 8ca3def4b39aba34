"""Exports: the bundle, both editions of the report, and the receipt."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets
from sklearn.utils import Bunch

from rashomon_explorer.exceptions import CuratorOnlyError, DataError
from rashomon_explorer.explorer.export.purchases import AggregateRelease
from rashomon_explorer.explorer.messages import report as report_failure
from rashomon_explorer.explorer.panels.card import Panel, row, styled
from rashomon_explorer.explorer.panels.numbers import set_cost
from rashomon_explorer.explorer.widgets import basic
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit, Making, ToPicture
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.plots.text import cost_text, plural, sentence, what_is_left
from rashomon_explorer.sets import RashomonSet

_HTML, _ZIP = "text/html", "application/zip"
_BUNDLE = "Models, guarantee, released aggregates, definitions, figures and report, in one zip file"


class TakePanel(Panel):
    """Receipt of the release, and buttons that save files."""

    title = "Receipt and bundle"
    needs = ("rashomon_set", "paid", "account", "view", "phase", "data")

    def __init__(self, aggregates: AggregateRelease) -> None:
        self.aggregates = aggregates
        self.state = aggregates.state
        self.draws: Callable[[], tuple[int, ...] | None] = lambda: None
        self.receipt = styled(basic.HTML(), "rx-receipt")
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
        )
        self.author = ipywidgets.Text(
            description="Author", placeholder="printed on the reports", continuous_update=False
        )
        self.author.observe(lambda _: setattr(aggregates, "author", self.author.value), "value")
        buttons = row([self.bundle, self.release_report, self.curator_report], "rx-take")
        super().__init__(self.state, buttons, self.author, self.receipt)

    def _download(
        self, label: str, hint: str, prepare: Callable[[], Making], *, primary: bool = False
    ) -> Download:
        failed = partial(report_failure, self.state, f"“{label}”")
        return Download(label, hint, prepare, failed, primary=primary)

    def lines(self) -> tuple[str, ...]:
        """Python that writes the same files."""
        rows = "explorer.rows, explorer.targets"
        if self.aggregates.session.is_chunked:
            rows = "explorer.chunks, explorer.session.all_targets"
        if self.state.outside is not None:
            return ("explorer.state.outside.report('audit.html')",)
        return (
            "from rashomon_explorer.report import report",
            "explorer.rashomon_set.release().save('models.npz')",
            "report(explorer.rashomon_set.release(), 'release.html')",
            f"report(explorer.rashomon_set, 'curator.html', {rows})",
        )

    def refresh(self) -> None:
        """Update the receipt, and enable the exports that are available."""
        why = self._why_not()
        for button in (self.bundle, self.saver, self.release_report):
            button.disabled = bool(why)
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
        for one in self.state.paid:
            when = f"{one.at:%d %b %H:%M}"
            added = f"<b>{cost_text(one.adds)}</b>"
            lines.append(f"{escape(one.what)}: {added}, charge {one.released.charge}, {when}")
        if not self.state.paid:
            lines.append("No aggregates were released for this set.")
        if account is not None and account.exists:
            lines.append(f"Remaining budget: <b>ε = {what_is_left(account.left)}</b>")
        band = '<span class="rx-band rx-paid-band">released</span>'
        return f"{band}<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"

    def _bundle(self) -> Making:
        contents = self.aggregates.contents(self.draws())

        def make() -> ToPicture:
            # Imported lazily: a page that saves nothing does not need it.
            from rashomon_explorer.explorer.export.bundle import bundle, figures, in_light

            def finish(pictures: Mapping[str, bytes]) -> FileInTransit:
                return FileInTransit(
                    f"{contents.table}-release.zip", bundle(contents, pictures), _ZIP
                )

            with suppress_weak_warnings():
                light_figures = {
                    name: in_light(figure) for name, figure in figures(contents).items()
                }
            return ToPicture(light_figures, finish)

        return make

    def _release_report(self) -> Making:
        contents = self.aggregates.contents(self.draws())

        def make() -> FileInTransit:
            from rashomon_explorer.explorer.export.bundle import release_page

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
        audit, psi = state.outside, float(state.outside_psi)
        known = rows is not None and isinstance(models, RashomonSet)
        data, author = state.data, self.aggregates.author
        table = "models" if data is None else str(data.name)
        account = session.refresh_account()
        ledger = account.path if account is not None and account.exists else None

        def inputs() -> tuple[Any, Any, Any]:
            """Rows, targets and groups; all of them if the rows are chunked."""
            split = None if state.data is None else _groups(state.data)
            if not session.is_chunked:
                return rows, targets, split
            all_of = None if split is None else session.all_groups(str(split.name))
            return session.chunks, session.all_targets, all_of

        def make() -> FileInTransit:
            from rashomon_explorer.explorer.export.bundle import described
            from rashomon_explorer.report import curator_report

            with tempfile.TemporaryDirectory() as folder, suppress_weak_warnings():
                path = Path(folder) / "report.html"
                if audit is not None:
                    (audit.at(psi) if audit.kind == "exact" else audit).report(path)
                    return FileInTransit(f"{table}-audit.html", path.read_bytes(), _HTML)
                rows, targets, groups = inputs()
                curator_report(
                    models,
                    path,
                    rows if known else None,
                    targets if known else None,
                    groups=groups if known else None,
                    ledger=ledger,
                    **described(table, None if data is None else data.get("schema"), author),
                )
                return FileInTransit(f"{table}-curator.html", path.read_bytes(), _HTML)

        return make


def _groups(data: Bunch) -> Any:
    sensitive = data.sensitive
    return sensitive.iloc[:, 0] if len(sensitive.columns) else None
