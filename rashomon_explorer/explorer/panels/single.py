"""One private model and private tuning: goal, cost, button and result."""

import io
import json
import zipfile
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path

import ipywidgets
import pandas as pd
import traitlets

from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.data.schema import public_part
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.export import score
from rashomon_explorer.explorer.html import fact, table_html
from rashomon_explorer.explorer.messages import error_boundary, report
from rashomon_explorer.explorer.paid_models import (
    BOUNDS,
    MANY,
    PaidModel,
    SingleModelController,
    Tuned,
    TuningController,
    TuningOffer,
    guarantee_text,
)
from rashomon_explorer.explorer.panels.card import AsyncCharge, CodeToggle, card
from rashomon_explorer.explorer.state import LINEAR
from rashomon_explorer.explorer.widgets.controls import Fold
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit, Making
from rashomon_explorer.mechanisms.one_model.plan import ModelPlan
from rashomon_explorer.plots.text import at_most, cost_text, number, what_is_left
from rashomon_explorer.privacy import pure, zcdp
from rashomon_explorer.privacy.conversions import zcdp_rho
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation

_MAKING = "Making one model"
_GOALS = [("The set", "set"), ("One model", "one")]


class GoalPanel:
    """Goal of the draw; for one model its privacy cost, guarantee and button.

    Parameters
    ----------
    single : SingleModelController
        Plans the model and charges the ledger.
    several : ipywidgets.Widget
        Panel that draws a set; hidden if the goal is one model.

    Attributes
    ----------
    goal : ipywidgets.ToggleButtons
        The set, or one model.
    make : ipywidgets.Button
        Charges the ledger and makes the model.
    made : callable
        Callback after a model was made.
    widget : ipywidgets.Widget
        The panel.
    """

    def __init__(self, single: SingleModelController, several: ipywidgets.Widget) -> None:
        self.single = single
        self.state = single.state
        self._several = several
        self.paying = AsyncCharge(single.session, _MAKING, self.refresh)
        self.made: Callable[[], object] = lambda: None
        self.goal = ipywidgets.ToggleButtons(
            options=_GOALS,
            tooltips=["Models that are almost as good as the best one", "One good model, private"],
        )
        self.goal.add_class("rx-goal")
        traitlets.link((self.state, "goal"), (self.goal, "value"))
        self.words = ipywidgets.HTML()
        self.words.add_class("rx-price")
        self.make = ipywidgets.Button(description="Make one model", button_style="primary")
        self.make.add_class("rx-draw")
        self.make.on_click(error_boundary(self.state, _MAKING, lambda _: self.pay()))
        self._code = CodeToggle(self.lines, "One model")
        buttons = ipywidgets.HBox([self.make])
        buttons.add_class("rx-buttons")
        self._card = card("", "One model", [self.words, buttons], self._code)
        self._card.add_class("rx-draw-card")
        more = Fold(label="Cost, guarantee and goal", of=".rx-goal-panel", marks=["▴", "▾"])
        self.widget = ipywidgets.VBox([self.goal, self._card, several, more])
        self.widget.add_class("rx-goal-panel")
        watched = ["goal", "one_plan", "account", "phase", "data", "family"]
        self.state.observe(lambda _: self.refresh(), watched)
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python code for such a model; showing it charges nothing."""
        return (
            "estimator = explorer.single.make_estimator()  # ledger=explorer.ledger.path charges",
            "estimator.plan(*explorer.session.shape)",
        )

    def refresh(self) -> None:
        """Update privacy cost and guarantee."""
        # One tree is a set of one draw; mechanisms for one model are linear only.
        linear = self.state.family == LINEAR
        self.goal.layout.display = None if linear else "none"
        one = linear and self.state.goal == "one"
        self._card.layout.display = None if one else "none"
        self._several.layout.display = "none" if one else None
        self.goal.disabled = self.state.busy or self.paying.under_way
        self._code.refresh()
        plan, account = self.state.one_plan, self.state.account
        if not one or account is None or not isinstance(plan, ModelPlan):
            nothing = "Choose a data set first." if self.state.data is None else ""
            told = plan if isinstance(plan, str) else nothing
            self.words.value = _both(escape(told), "No privacy cost yet")
            self.make.disabled, self.make.description = True, "Make one model"
            self.make.button_style = "primary"
            return
        adds, affordable = cost_text(account.adds(plan.guarantee)), account.affords(plan.guarantee)
        self.make.disabled = self.paying.under_way or self.state.busy or not affordable
        self.make.description = (
            "Making it…" if self.paying.under_way else f"Make one model · {adds}"
        )
        self.make.button_style = "" if plan.weakness or not affordable else "primary"
        self.words.value = _words(plan, adds) if affordable else _over(adds, account, plan)

    def pay(self) -> None:
        """Make one private model, in a worker thread if there is an event loop."""
        if not self.paying.under_way:
            self.paying.start(self.single.order(), self._received)

    def _received(self, made: PaidModel) -> None:
        self.single.received(made)
        self.made()


def _over(adds: str, account: Account, plan: ModelPlan) -> str:
    tilted = isinstance(plan.guarantee.curve, GaussianObjectivePerturbation)

    def fits(cost: float) -> bool:
        # Objective perturbation is charged as zCDP; other mechanisms are treated as pure.
        priced = zcdp(zcdp_rho(cost, plan.delta)) if tilted else pure(cost)
        return account.affords(priced)

    most = bisect(fits, 0.0, account.budget, halvings=40)
    told = (
        f"<b>Over the budget</b>: this adds {adds}, and ε = {what_is_left(account.left)} "
        f"remains. One model at ε = {what_is_left(most)} fits."
    )
    return _both(told, "<b>Over the budget</b>")


def _words(plan: ModelPlan, adds: str) -> str:
    promise = f"Expected excess loss: <b>{escape(at_most(plan.excess_bound))}</b>"
    mechanism = escape(plan.mechanism.replace("_", " "))
    spent = f"This will spend <b>{adds}</b> on one model by {mechanism}. {promise}."
    doubt = f" <b>Weak guarantee</b>: {escape(plan.weakness)}." if plan.weakness else ""
    excess = f"excess {escape(at_most(plan.excess_bound))}"
    brief = "weak guarantee" if plan.weakness else excess
    return _both(f"{spent}{doubt}", f"<b>{adds}</b> · {brief}")


def _both(whole: str, brief: str) -> str:
    """Return the text as HTML, with a short text for phones."""
    return f'<p class="rx-note">{whole}</p><p class="rx-brief">{brief}</p>'


class OneModelPanel:
    """The private model: coefficients, guarantee, reason, and rejected candidates.

    Parameters
    ----------
    single : SingleModelController
        Its state's model is shown.

    Attributes
    ----------
    told : ipywidgets.HTML
        The result.
    bundle : Download
        Saves the release as a zip file.
    widget : ipywidgets.Widget
        The panel.
    """

    title = "One model"

    def __init__(self, single: SingleModelController) -> None:
        self.state = single.state
        self.told = ipywidgets.HTML()
        failed = partial(report, self.state, "“Save the model”")
        hint = "Model, guarantee, schema and a prediction script, in one zip file"
        self.bundle = Download("Save the model", hint, self._bundle, failed, primary=True)
        self._code = CodeToggle(self.lines, self.title)
        row = ipywidgets.HBox([self.bundle])
        row.add_class("rx-take")
        self.widget = card("", self.title, [row, self.told], self._code)
        self.state.observe(lambda _: self.refresh(), ["one_model", "data"])
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python that shows the same."""
        if self.state.one_model is None:
            return ("explorer.state.one_model  # None before one was made",)
        return (
            "explorer.state.one_model.why, explorer.state.one_model.excess",
            "explorer.state.one_model.guarantee",
            "explorer.state.one_model.model['coefficients']",
        )

    def refresh(self) -> None:
        """Update the result."""
        made = self.state.one_model
        self.bundle.disabled = made is None
        self._code.refresh()
        if made is None:
            told = "No private model of this table yet: choose One model above Draw."
            self.told.value = f'<p class="rx-note">{told}</p>'
            return
        self.told.value = _result_html(made)

    def _bundle(self) -> Making:
        made, data = self.state.one_model, self.state.data
        if made is None or data is None:
            raise DataError("there is no private model of this table yet")
        return partial(_zipped, made, str(data.name), public_part(data.schema).to_toml())


def _result_html(made: PaidModel) -> str:
    paid = cost_text(made.guarantee.epsilon(made.delta), made.delta)
    facts = [
        fact("Spent", paid, f"added {cost_text(made.adds)}", kind="rx-paid"),
        fact("Expected excess loss", made.excess, "on these rows"),
        fact("On new rows", made.unseen),
        fact("Made by", made.mechanism.replace("_", " "), made.why),
    ]
    ways = pd.DataFrame(made.others, columns=["other mechanism", "guarantee, or why not"])
    band = '<span class="rx-band rx-paid-band">released</span>'
    tables = table_html(_coefficients(made), "Coefficients, per unit of encoded feature")
    others = table_html(ways.set_index("other mechanism"), "Other mechanisms")
    return f'{band}<dl class="rx-facts">{"".join(facts)}</dl>{tables}{others}'


def _coefficients(made: PaidModel) -> pd.DataFrame:
    model = made.model
    (rows,), (ends,) = model["coefficients"], model["intercepts"]
    names = [str(name) for name in model["classes"][1:]] if len(rows) > 1 else ["coefficient"]
    index = pd.Index([*model["columns"], "intercept"], name="column")
    every = {name: [*row, end] for name, row, end in zip(names, rows, ends, strict=True)}
    return pd.DataFrame(every, index=index)


def _zipped(made: PaidModel, table: str, schema: str) -> FileInTransit:
    paid = cost_text(made.guarantee.epsilon(made.delta), made.delta)
    readme = (
        f"One differentially private model of {table}, by {made.mechanism}: {made.why}.\n\n"
        f"Privacy cost: {paid}. Guaranteed expected excess loss: {made.excess} on these rows and "
        f"{made.unseen} on new "
        f"ones.\n\nscore.py predicts with model.json, by numpy only, on rows encoded as "
        "schema.toml declares; guarantee.json is the privacy guarantee. Computations from these "
        "files and from public rows have no further privacy cost.\n"
    )
    files = {
        "README.txt": readme,
        "model.json": json.dumps(made.model, ensure_ascii=False, indent=1),
        "guarantee.json": json.dumps(made.guarantee.to_dict(), ensure_ascii=False, indent=1),
        "score.py": Path(score.__file__).read_text(encoding="utf-8"),
        "schema.toml": schema,
    }
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return FileInTransit(f"{table}-one-model.zip", into.getvalue(), "application/zip")


_DRAWING = "Drawing a penalty"


class TuningPanel:
    """Panel that draws penalties privately: public range, privacy cost and result.

    Parameters
    ----------
    tuner : TuningController
        Plans the draws and charges the ledger.

    Attributes
    ----------
    bounds, many : ipywidgets.Dropdown
        The public range of penalties, and how many are drawn.
    draw : ipywidgets.Button
        Charges the ledger and draws.
    drawn : callable
        Callback after penalties were drawn.
    widget : ipywidgets.Widget
        The panel.
    """

    title = "A penalty, privately"

    def __init__(self, tuner: TuningController) -> None:
        self.tuner = tuner
        self.state = tuner.state
        self.drawn: Callable[[], object] = lambda: None
        self.paying = AsyncCharge(tuner.session, _DRAWING, self.refresh)
        self.bounds = ipywidgets.Dropdown(description="Penalties from", options=[*BOUNDS])
        self.many = ipywidgets.Dropdown(description="Draws", options=list(MANY))
        for control in (self.bounds, self.many):
            control.observe(lambda _: self._on_replan(), "value")
        self.words = ipywidgets.HTML()
        self.words.add_class("rx-price")
        self.draw = ipywidgets.Button(description="Draw a penalty", button_style="primary")
        self.draw.on_click(error_boundary(self.state, _DRAWING, lambda _: self.pay()))
        self.told = ipywidgets.HTML()
        self._code = CodeToggle(self.lines, self.title)
        asked = ipywidgets.HBox([self.bounds, self.many])
        asked.add_class("rx-bar")
        row = ipywidgets.HBox([self.draw])
        row.add_class("rx-take")
        self.widget = card("", self.title, [asked, self.words, row, self.told], self._code)
        watched = ["tuning", "tuned", "account", "phase", "data"]
        self.state.observe(lambda _: self.refresh(), watched)
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python code for such penalties; showing it charges nothing."""
        return (
            "search = explorer.tuner.make_search()  # ledger=explorer.ledger.path charges",
            "search.plan(*explorer.rows.shape)",
            "search.mechanisms(*explorer.rows.shape)",
        )

    def refresh(self) -> None:
        """Update privacy cost, guarantee and draws."""
        offer, account = self.state.tuning, self.state.account
        self._code.refresh()
        self.told.value = "" if self.state.tuned is None else _tuning_result_html(self.state.tuned)
        if offer is None or offer.plan is None or account is None:
            why = "Choose a data set first." if offer is None else offer.why_not
            self.words.value = f'<p class="rx-note">{escape(why)}</p>'
            self.draw.disabled, self.draw.description = True, "Draw a penalty"
            self.draw.button_style = "primary"
            return
        adds, affordable = (
            cost_text(account.adds(offer.plan.guarantee)),
            account.affords(offer.plan.guarantee),
        )
        self.draw.disabled = self.paying.under_way or self.state.busy or not affordable
        self.draw.description = "Drawing…" if self.paying.under_way else f"Draw a penalty · {adds}"
        self.draw.button_style = "" if offer.plan.weakness or not affordable else "primary"
        over = "" if affordable else " <b>Over the budget</b>: set ε lower."
        self.words.value = _tuning_words(offer, adds) + over

    def pay(self) -> None:
        """Draw the penalties, in a worker thread if there is an event loop."""
        if not self.paying.under_way:
            self.paying.start(self.tuner.order(), self._received)

    def _received(self, made: Tuned) -> None:
        self.tuner.received(made)
        self.drawn()

    def _on_replan(self) -> None:
        self.tuner.bounds, self.tuner.n_draws = self.bounds.value, self.many.value
        self.tuner.replan()


def _tuning_words(offer: TuningOffer, adds: str) -> str:
    plan = offer.plan
    assert plan is not None
    many = "one draw" if plan.n_draws == 1 else f"{plan.n_draws} draws"
    doubt = (
        f" <b>Weak guarantee</b>: {escape(plan.weakness)}. {escape(plan.suggestion)}."
        if plan.weakness
        else ""
    )
    told = (
        f"This will spend <b>{adds}</b> on {many} from {plan.n_points} penalties, by "
        f"the {escape(plan.mechanism)} mechanism: {escape(guarantee_text(plan))}.{doubt}"
    )
    return f'<p class="rx-note">{told}</p>'


def _tuning_result_html(made: Tuned) -> str:
    paid = cost_text(made.guarantee.epsilon(made.delta), made.delta)
    drawn = ", ".join(number(one) for one in sorted(made.penalties))
    facts = [
        fact("Drawn", drawn, "penalties of the mean loss"),
        fact("Spent", paid, f"added {cost_text(made.adds)}", kind="rx-paid"),
        fact("Guarantee", made.promised, f"by the {made.mechanism} mechanism"),
    ]
    band = '<span class="rx-band rx-paid-band">released</span>'
    return f'{band}<dl class="rx-facts">{"".join(facts)}</dl>'
