"""Panels of the plan and its alternatives, and of the key numbers of the draws."""

import math
from collections.abc import Iterable
from functools import lru_cache
from html import escape

import ipywidgets
import numpy as np
import pandas as pd
import traitlets

from rashomon_explorer._utils.formatting import left_text
from rashomon_explorer.explorer import family, messages
from rashomon_explorer.explorer.account import Account, draw_cost
from rashomon_explorer.explorer.drawing import SetDraw
from rashomon_explorer.explorer.html import fact
from rashomon_explorer.explorer.panels.card import Panel, column, region, styled
from rashomon_explorer.explorer.state import SETTINGS, ExplorerState
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.mechanisms.planner import explain, improvement_messages
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.mechanisms.simulation.feasibility import feasibility_suggestions, preflight
from rashomon_explorer.networks.path import NetworkPlan
from rashomon_explorer.plots import text
from rashomon_explorer.plots.prices import options_table
from rashomon_explorer.plots.text import cost_text, guaranteed, guaranteed_hits, number, percent
from rashomon_explorer.privacy import Guarantee, best_attack
from rashomon_explorer.privacy.tradeoff.curves import envelope
from rashomon_explorer.sets import PredictorSet, RashomonSet

FALSE_ALARMS = 0.05  # False-positive rate of the membership attack shown on the page
_NOTHING = 0.99
_DELTAS = np.geomspace(1e-9, 0.3, 40)
_HUGE = 700.0  # ε at which a pair proves nothing, and e^ε overflows
_attack_power = lru_cache(maxsize=64)(best_attack)


def attack_text(state: ExplorerState) -> str:
    """Bound on the best attack of the planned models; empty where nothing is guaranteed."""
    plan = state.plan
    if plan is None or state.uncharged or not plan.guarantee.holds:
        return ""
    power = text.percent(_attack_power(plan.guarantee, FALSE_ALARMS), "up")
    return f"{text.percent(FALSE_ALARMS)} false alarms finds at most {power} of members"


def risk_fact(state: ExplorerState) -> str:
    plan, attack = state.plan, attack_text(state)
    if not attack:
        return ""
    power = text.percent(_attack_power(plan.guarantee, FALSE_ALARMS), "up")
    note = f"an attack with {attack}; guessing finds {text.percent(FALSE_ALARMS)}"
    cost = draw_cost(state)
    if cost is not None and not state.spent and cost.account.spent > 0:
        success = attack_on_all(cost.account, plan.guarantee)
        bound = "no useful bound is known"
        if success <= _NOTHING:
            bound = f"at most {text.percent(success, 'up')} (a loose bound)"
        note += f"; with all previous charges, {bound}"
    return fact("Attack risk", f"≤ {power}", note)


def attack_on_all(account: Account, planned: Guarantee) -> float:
    """Bound on the members found from all charges and a planned one: the least over δ of ε(δ)."""
    spending = account.spending.plus(planned)
    epsilons = np.array([spending.epsilon(float(delta)) for delta in _DELTAS])
    epsilons[epsilons > _HUGE] = math.inf
    return 1.0 - float(envelope(FALSE_ALARMS, epsilons, _DELTAS))


def _listed(offers: pd.DataFrame) -> str:
    rows = ""
    for option, offer in offers.iterrows():
        hint = escape(f"{offer['draw']}; {offer['draws within ψ']}; {offer['reason']}")
        cells = f'<th scope="row">{escape(str(option))}</th><td>{escape(offer["within ψ"])}</td>'
        rows += f'<tr title="{hint}">{cells}</tr>'
    return (
        f'<table class="rx-table rx-ways"><caption>{_WHAT}</caption><thead><tr>'
        '<th scope="col">mechanism</th><th scope="col">guaranteed hit rate</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


_TREES = "Trees are counted and drawn exactly; there is no alternative mechanism."
_WHAT = "Mechanisms at this privacy cost: uniform on the set first, then by hit rate"


class PlanPanel(Panel):
    """Numbers that follow the sliders and cost no privacy."""

    title = "Plan"
    needs = ("plan", "no_plan", "account", "data", "phase")

    def __init__(self, state: ExplorerState) -> None:
        self.facts = styled(ui.HTML(), "rx-plan")
        self._listed: Plan | None = None
        self._risk: tuple[tuple[object, ...], str] = ((), "")
        self.mechanisms = region()
        super().__init__(state, self.facts)

    def menu_entries(self) -> ui.MenuEntries:
        what = "What the plan guarantees, what limits it, and suggestions"
        return {"Explanation": (what, self._explain), **super().menu_entries()}

    def lines(self) -> tuple[str, ...]:
        has_ledger = self.state.account is not None and self.state.account.exists
        return (
            "explorer.plan.hit_rate_bound",
            "explorer.plan.guarantee.epsilon(explorer.plan.delta)  # cost of a first charge",
            "explorer.plan.beta",
            "explorer.plan.excess_bound",
            "explorer.ledger.epsilon_after(explorer.plan.guarantee) - explorer.ledger.spent()"
            if has_ledger
            else "explorer.budget  # no ledger before the first draw",
        )

    def refresh(self) -> None:
        plan = self.state.plan
        if plan is None or plan is not self._listed:
            self._listed, self.mechanisms.value = plan, self._list()
        if plan is None:
            reason = self.state.no_plan or "Choose a data set to see its guarantees."
            self.facts.value = f'<p class="rx-note">{escape(reason)}</p>'
            return
        rows = [_lead(plan)]
        if isinstance(plan, Plan) and plan.expected is not None:  # a prediction for one model
            gain = f"{plan.expected.percent} %"
            rows.append(fact("Expected, not guaranteed", gain, str(plan.expected)))
        inputs = (plan.guarantee, self.state.account, self.state.uncharged, self.state.spent)
        if inputs != self._risk[0]:  # the panel follows more than these
            self._risk = inputs, risk_fact(self.state)
        rows += [*self._price(), self._risk[1], *_law(plan)]
        if getattr(plan, "columns", None) is not None:  # trees do not scale columns
            rows.append(fact("Columns", "centred and scaled privately", _SCALED))
        rows += self._after()
        self.facts.value = f'<dl class="rx-facts">{"".join(rows)}</dl>{self._advice()}'

    def _explain(self) -> str:
        plan = self.state.plan
        lines = explain(plan).splitlines() if isinstance(plan, Plan) else []
        if isinstance(plan, NetworkPlan):
            lines = [f"{name}: {value}" for name, value, *_ in plan._facts()]
        # The feasibility check on simulated rows takes a moment.
        check = preflight(plan) if isinstance(plan, Plan) and not plan.of_trees else None
        if check is not None:
            lines.append(f"{check.in_words} {feasibility_suggestions(plan)}".rstrip())
        return "".join(f"<p>{escape(line)}</p>" for line in lines)

    def _list(self) -> str:
        """Candidates of the planner for the current plan, the best first."""
        plan = self.state.plan
        if not isinstance(plan, Plan):
            return ""
        if plan.of_trees:
            return f'<p class="rx-note">{_TREES}</p>'
        offers = options_table(plan)
        return "" if offers.empty else _listed(offers)

    def _price(self) -> list[str]:
        state, plan = self.state, self.state.plan
        if state.uncharged:
            why = f"{state.uncharged}, so nothing is charged"
            return [fact("Privacy guarantee", "none", why, kind="rx-over")]
        at = f"at δ = {text.number(plan.delta, rounding='up')}"
        offer = draw_cost(state)
        if offer is None or state.spent:
            charged = plan.epsilon if state.charged is None else state.charged
            return [fact("Privacy cost", text.cost_text(charged), at)]
        differs = offer.explained(float(state.epsilon))
        return [fact("Privacy cost", offer.text, f"{at}. {differs}".rstrip(". "))]

    def _after(self) -> list[str]:
        offer = draw_cost(self.state)
        if offer is None or self.state.spent:
            return []
        left = offer.left_after
        if offer.affordable:
            return [fact("Remaining after this draw", f"ε = {left_text(left)}")]
        shortage = offer.shortage(SetDraw.remedy)
        return [fact("Over the budget", f"by {text.cost_text(-left)}", shortage, kind="rx-over")]

    def _advice(self) -> str:
        why = self.state.plan.weakness
        if not why:
            return ""
        # Folded: Draw is always visible, with the same message and the suggestions.
        message = " ".join([text.sentence(why), *improvement_messages(self.state.plan)])
        predicted = getattr(self.state.plan, "expected", None) is not None
        what = "Little is expected" if predicted else "Weak guarantee"
        more = f"<summary>{what}</summary><p>{escape(message)}</p>"
        return f'<details class="rx-note rx-little">{more}</details>'


def _lead(plan: Plan | NetworkPlan) -> str:
    rows = f"for any {plan.n:,} rows"
    if isinstance(plan, NetworkPlan):
        measured = f"{plan.n_losses} released losses measure the share within ψ"
        return fact("Closeness", "not promised", measured, kind="rx-lead")
    if mechanism_traits(plan.mechanism).curator_only:
        return fact("Draws within ψ", "all", "a free look at the rows: not private", kind="rx-lead")
    if plan.hit_rate is not None:
        share = f"share of draws within ψ, {rows}"
        return fact("Guaranteed hit rate", text.guaranteed_hits(plan), share, kind="rx-lead")
    name, bound = excess_fact(plan)
    return fact(name, bound, f"on average, {rows}; no hit rate is guaranteed", kind="rx-lead")


def excess_fact(plan: Plan) -> tuple[str, str]:
    return plan.excess_name, text.at_most(plan.stated_excess)


def _law(plan: Plan | NetworkPlan) -> list[str]:
    """Inverse temperature if there is one, and the excess loss if it is not shown first."""
    if isinstance(plan, NetworkPlan):
        return [fact("Steps", f"{plan.n_steps:,}", f"{plan.batch_size:,.0f} rows each, on average")]
    if mechanism_traits(plan.mechanism).curator_only:
        return []
    cold = [text.number(plan.beta, 4)] if math.isfinite(plan.beta) else []
    facts = [fact("Inverse temperature β", beta) for beta in cold]
    return [*facts, fact(*excess_fact(plan))] if plan.hit_rate is not None else facts


_SCALED = "the privacy cost includes centres and spreads; coefficients are in these units"


_SHOWN = ("selection", "view", "phase", "drawn_settings", "data")
_VIEWS = [("Curator", "curator"), ("Release", "release")]


class NumbersPanel(Panel):
    """Draws, hit rate, best loss and privacy cost, and the switch between the two views."""

    title = "Explore"
    needs = ("rashomon_set", "charged", *_SHOWN, *SETTINGS)

    def __init__(self, state: ExplorerState) -> None:
        self.facts = styled(ui.HTML(), "rx-numbers")
        self.view = ui.ToggleButtons(
            options=_VIEWS,
            tooltips=[
                "All figures, including those computed from private rows",
                "Only released results, which may be shown to others",
            ],
        )
        styled(self.view, "rx-view-switch")
        traitlets.link((state, "view"), (self.view, "value"))
        self.stale = region("rx-stale")
        super().__init__(state, self.facts)

    def frame(self, children: Iterable[ipywidgets.Widget]) -> ipywidgets.Widget:
        return column([self.menu, *children], "rx-card", "rx-numbers-card")

    def lines(self) -> tuple[str, ...]:
        if self.state.rashomon_set is None:
            return ("explorer.rashomon_set  # None before the first draw",)
        public = (
            "explorer.rashomon_set.n_draws",
            "explorer.guarantee.epsilon(explorer.rashomon_set.plan.delta)",
        )
        if self.state.view == "release":
            return (*public, "explorer.rashomon_set.release()")
        return (
            *public,
            "explorer.rashomon_set.hit_rate",
            "explorer.rashomon_set.minimum.value, explorer.rashomon_set.minimum.gap",
            "explorer.rashomon_set.excess.max()",
            "explorer.rashomon_set.clipped_share",
        )

    def refresh(self) -> None:
        models, text = self.state.rashomon_set, messages.stale(self.state)
        self.stale.value = f'<p class="rx-band rx-curator">{escape(text)}</p>' if text else ""
        ui.display(self.widget, models is not None and bool(models.n_draws))
        if models is None or not models.n_draws:
            return
        rows = [self._price()]
        if not self.state.has_no_guarantee:
            rows.insert(0, fact("Draws", f"{models.n_draws:,}"))
            if getattr(models, "scale", None) is not None:  # only linear models may have one
                rows.append(fact("Columns", "scaled", "privately"))
        if self.state.view == "curator":
            linear = isinstance(models, RashomonSet)
            rows += _curator_facts(models) if linear else _facts_of_others(models)
            if linear and not self.state.busy:  # counted after the last draw
                clipped = percent(models.clipped_share)
                rows.append(fact("Clipped rows", clipped, kind="rx-curator"))
            if self.state.selection:
                selected = f"{len(self.state.selection):,}"
                rows.append(fact("Selected", selected, "the other numbers are of all draws"))
        self.facts.value = f'<dl class="rx-facts">{"".join(rows)}</dl>'

    def _price(self) -> str:
        models = self.state.rashomon_set
        if not models.guarantee.holds:
            return fact("Guarantee", "none", models.guarantee.theorem, kind="rx-over")
        delta = family.spent_delta(models.guarantee)
        seed = "known seed: not private" if models.guarantee.seeded else ""
        note = seed or f"at δ = {number(delta, rounding='up')}"
        return fact("Spent", set_cost(self.state), note, kind="rx-paid")


def set_cost(state: ExplorerState) -> str:
    guarantee = state.rashomon_set.guarantee
    own_epsilon = guarantee.epsilon(family.spent_delta(guarantee))
    return cost_text(own_epsilon if state.charged is None else state.charged)


def _facts_of_others(models: PredictorSet) -> list[str]:
    if math.isnan(models.least):
        return [fact("Losses", "unknown", "build the set with losses or with y", kind="rx-curator")]
    hits = "all" if models.complete else f"{round(models.hit_rate * models.n_draws):,}"
    inside = f"{hits} of {models.n_draws:,} inside ψ = {number(models.psi)}"
    return [
        fact("Inside ψ", percent(models.hit_rate), inside, kind="rx-curator"),
        fact("Best loss", number(models.least, 4), models.loss, kind="rx-curator"),
    ]


def _promised(models: RashomonSet) -> str:
    if models.plan.hit_rate is None or models.psi == models.plan.psi:
        return guaranteed(models.plan)
    return f"{guaranteed_hits(models.plan)} guaranteed at ψ = {number(models.plan.psi)}"


def _curator_facts(models: RashomonSet) -> list[str]:
    where = "limited by the radius" if models.minimum.on_boundary else "certified minimum"
    promised = f"; {_promised(models)}" if models.guarantee.holds else ""
    return [
        fact(
            "Hit rate",
            percent(models.hit_rate),
            f"{round(models.hit_rate * models.n_draws):,} of {models.n_draws:,} inside ψ{promised}",
            kind="rx-curator",
        ),
        fact("Best loss", number(models.minimum.value, 4), where, kind="rx-curator"),
        fact(
            "Worst draw",
            f"+{number(float(models.excess.max()))}",
            f"ψ = {number(models.psi)}",
            kind="rx-curator",
        ),
    ]
