"""Table of the ledger's charges, and the ledger as a file."""

from functools import partial
from html import escape

import ipywidgets
import pandas as pd

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.html import table_html
from rashomon_explorer.explorer.messages import report
from rashomon_explorer.explorer.panels.card import CodeToggle, card
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit, Making
from rashomon_explorer.plots.tables import charges_table
from rashomon_explorer.plots.text import cost_text, plural, what_is_left

_HINT = "The ledger as JSON, without data-dependent values and times of day"


class LedgerPanel:
    """Charges of this table's ledger: when, who and what for.

    Parameters
    ----------
    session : Session
        Its account is shown.

    Attributes
    ----------
    charges : ipywidgets.HTML
        A line a charge.
    export : Download
        The ledger's own export.
    widget : ipywidgets.Widget
        The panel.
    """

    title = "All charges"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.charges = ipywidgets.HTML()
        self.charges.add_class("rx-charges")
        failed = partial(report, self.state, "Exporting the ledger")
        self.export = Download("Export the ledger", _HINT, self._export, failed)
        self._code = CodeToggle(self.lines, self.title)
        row = ipywidgets.HBox([self.export])
        row.add_class("rx-take")
        self.widget = card("", self.title, [row, self.charges], self._code)
        self.state.observe(lambda _: self.refresh(), ["account", "data"])
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python that shows the same."""
        account = self.state.account
        if account is None or not account.exists:
            return ("explorer.budget",)
        return ("explorer.ledger.entries()", "explorer.ledger.export()")

    def refresh(self) -> None:
        """Write the charges again."""
        account = self.state.account
        none = account is None or not account.exists
        self.export.disabled = none
        self._code.refresh()
        if account is None or none:
            told = "No charges yet: the first draw creates the ledger."
            self.charges.value = f'<p class="rx-note">{told}</p>'
            return
        self.charges.value = _account_html(account) + table_html(
            _listed(account), "Charges, oldest first"
        )

    def _export(self) -> Making:
        ledger = self.session.ledger
        if ledger is None:
            raise LedgerError("there is no ledger yet: the first draw creates it")
        name = f"{ledger.path.stem}-ledger.json"
        return lambda: FileInTransit(name, ledger.export().encode(), "application/json")


def _account_html(account: Account) -> str:
    counted = sum(entry.counts for entry in account.charges)
    spent = f"{plural(counted, 'charge')}: {cost_text(account.spent)} spent"
    limit = f" of {cost_text(account.budget)}, {what_is_left(account.left)} remaining"
    return f"<p>{escape(spent + limit)} (<code>{escape(account.path.name)}</code>).</p>"


def _listed(account: Account) -> pd.DataFrame:
    frame = charges_table(account.charges, account.delta, order=account.totals.order)
    before = [0.0, *frame["ε in total"].iloc[:-1]]
    frame["ε added"] = frame["ε in total"] - before
    voided = [] if all(entry.counts for entry in account.charges) else ["state"]
    listed = frame[["when", "what", "ε added", "ε in total", *voided]]
    listed.attrs["rounding"] = {"ε in total": "up", "ε added": "up"}
    return listed
