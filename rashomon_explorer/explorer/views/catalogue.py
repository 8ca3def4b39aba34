"""What stands in which view; a new panel or figure is a word here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ViewPlan:
    """One view: its address, its question, and what answers it.

    Attributes
    ----------
    name : str
        Its address, without the ``#``.
    title : str
        The words of its tab.
    question : str
        What it answers.
    slots : tuple of tuple of str
        Names of panels and figures. Those of one slot take turns in one place; one that a page
        does not have is left out.
    strips : tuple of str
        Names of panels across its top.
    """

    name: str
    title: str
    question: str
    slots: tuple[tuple[str, ...], ...]
    strips: tuple[str, ...] = ()


VIEWS: tuple[ViewPlan, ...] = (
    ViewPlan("data", "Data", "What is known of the table?", (("data panel", "columns"),)),
    ViewPlan(
        "plan",
        "Plan",
        "What would a price buy?",
        (("plan",), ("plan panel",), ("promise",), ("budget panel",)),
    ),
    ViewPlan(
        "set",
        "Set",
        "How wide is the set?",
        (
            ("losses",),
            (
                "models panel",
                "coefficients",
                "trees",
                "rules",
                "witness",
                "pair",
                "sets",
                "selection panel",
            ),
            ("ranges", "bounds", "exact", "tree_sizes"),
        ),
        strips=("numbers panel",),
    ),
    ViewPlan(
        "features",
        "Features",
        "What do the models rely on?",
        (
            ("importance", "class_reliance", "exact_ranges", "tree_questions", "tree_use"),
            ("profile", "importance_cloud", "importance_distribution"),
        ),
    ),
    ViewPlan(
        "people",
        "People & groups",
        "Who is affected?",
        (
            ("people_ranges", "people table", "people", "tree_flips"),
            ("person", "gaps", "frontier", "burden", "width_or_noise", "tree_parity"),
        ),
        strips=("people headline",),
    ),
    ViewPlan(
        "release",
        "Release & ledger",
        "What may leave, and at what price?",
        (
            ("basket panel",),
            ("take panel", "one model panel", "tuning panel"),
            ("aggregates", "tradeoff", "budget", "ledger panel", "penalties"),
        ),
    ),
)
