"""Sections of each edition, in order; each one is a function and a line here."""

from typing import Any

from rashomon_explorer.report.sections import document, models, people, privacy
from rashomon_explorer.report.sections.document import Section

_PLAN = Section("plan", "The plan in words", "public", privacy.plan_section)
_CAVEATS = Section("caveats", "Caveats", "public", document.caveats)


def _models(title: str, make: Any, view: document.View, *, trees: bool) -> Section:
    key = "trees" if trees else "coefficients"
    return Section(key, title, view, make, lambda shown: models.are_trees(shown) == trees)


CURATOR: tuple[Section, ...] = (
    Section("summary", "Summary", "curator", document.summary_curator),
    Section("data", "The data", "curator", models.data_curator),
    Section("set", "The set", "curator", models.the_set_curator),
    Section("privacy", "Budget and guarantee", "internal", privacy.privacy_curator),
    _PLAN,
    Section("multiplicity", "How much the models differ", "curator", people.multiplicity_curator),
    _models("Ranges of coefficients", models.coefficients_curator, "curator", trees=False),
    _models("The trees", models.trees_section, "curator", trees=True),
    Section("importance", "Importance of features", "curator", people.importance_curator),
    Section("width", "Model-set width and mechanism noise", "curator", people.width_curator),
    Section("fairness", "Group gaps over the set", "curator", people.fairness_curator),
    Section("people", "Conflicting predictions by person", "curator", people.people_curator),
    Section("accuracy", people.ACCURACY_TITLE, "curator", people.accuracy_curator),
    _CAVEATS,
    Section("definitions", "Definitions", "public", document.definitions_curator),
    Section("reproduce", "How to reproduce it", "internal", document.reproduce),
)

RELEASE: tuple[Section, ...] = (
    Section("summary", "Summary", "release", document.summary_release),
    Section("data", "Public facts about the data", "public", models.data_release),
    Section("set", "The set", "public", models.the_set_release),
    Section("privacy", "Budget and guarantee", "public", privacy.privacy_release),
    _PLAN,
    _models("The released models", models.coefficients_release, "release", trees=False),
    _models("The released models", models.trees_section, "release", trees=True),
    Section("aggregates", "Released aggregates", "release", privacy.aggregates_release),
    _CAVEATS,
    Section("definitions", "Definitions", "public", document.definitions_release),
    Section("reproduce", "How to reproduce it", "public", document.reproduce),
)
