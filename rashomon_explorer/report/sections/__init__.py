"""Sections of each edition, in order; each one is a function and a line here."""

from rashomon_explorer.report.kinds import are_linear, are_networks
from rashomon_explorer.report.sections import document, models, people, privacy
from rashomon_explorer.report.sections.document import Section

_PLAN = Section("plan", "The plan in words", "public", privacy.plan_section)
_CAVEATS = Section("caveats", "Caveats", "public", document.caveats)
_RANGES, _RELEASED = "Ranges of coefficients", "The released models"

CURATOR: tuple[Section, ...] = (
    Section("summary", "Summary", "curator", document.summary_curator),
    Section("data", "The data", "curator", models.data_curator),
    Section("set", "The set", "curator", models.the_set_curator),
    Section("privacy", "Budget and guarantee", "internal", privacy.privacy_curator),
    _PLAN,
    Section("multiplicity", "How much the models differ", "curator", people.multiplicity_curator),
    Section("coefficients", _RANGES, "curator", models.coefficients_curator, models.are_no_trees),
    Section("trees", "The trees", "curator", models.trees_section, models.are_trees),
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
    Section("coefficients", _RELEASED, "release", models.coefficients_release, are_linear),
    Section("trees", _RELEASED, "release", models.trees_section, models.are_trees),
    Section("states", _RELEASED, "release", models.states_release, are_networks),
    Section("aggregates", "Released aggregates", "release", privacy.aggregates_release),
    _CAVEATS,
    Section("definitions", "Definitions", "public", document.definitions_release),
    Section("reproduce", "How to reproduce it", "public", document.reproduce),
)
