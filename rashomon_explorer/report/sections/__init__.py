"""Sections of each edition, in order; each one is a function and a line here."""

from rashomon_explorer.report.sections.document import (
    Section,
    about_curator,
    about_release,
    caveats_curator,
    caveats_release,
    definitions_curator,
    definitions_release,
    reproduce_curator,
    reproduce_release,
)
from rashomon_explorer.report.sections.models import (
    are_trees,
    coefficients_curator,
    coefficients_release,
    data_curator,
    data_release,
    no_trees,
    the_set_curator,
    the_set_release,
    trees_curator,
    trees_release,
)
from rashomon_explorer.report.sections.people import (
    fairness_curator,
    importance_curator,
    multiplicity_curator,
    people_curator,
    width_curator,
)
from rashomon_explorer.report.sections.privacy import (
    aggregates_release,
    alternatives_section,
    certificates_section,
    plan_section,
    privacy_curator,
    privacy_release,
)

CURATOR: tuple[Section, ...] = (
    Section("about", "About this report", "internal", about_curator),
    Section("data", "The data", "curator", data_curator),
    Section("set", "The set", "curator", the_set_curator),
    Section("privacy", "Budget and guarantee", "internal", privacy_curator),
    Section("plan", "The plan in words", "public", plan_section),
    Section("certificates", "Certificates", "public", certificates_section),
    Section("ways", "Alternative mechanisms", "public", alternatives_section),
    Section("multiplicity", "How much the models differ", "curator", multiplicity_curator),
    Section(
        "coefficients",
        "Ranges of coefficients",
        "curator",
        coefficients_curator,
        suits=no_trees,
    ),
    Section("trees", "The trees", "curator", trees_curator, suits=are_trees),
    Section("importance", "Importance of features", "curator", importance_curator),
    Section("width", "Model-set width and mechanism noise", "curator", width_curator),
    Section("fairness", "Group gaps over the set", "curator", fairness_curator),
    Section("people", "Conflicting predictions by person", "curator", people_curator),
    Section("caveats", "Caveats", "public", caveats_curator),
    Section("definitions", "Definitions", "public", definitions_curator),
    Section("reproduce", "How to reproduce it", "internal", reproduce_curator),
)

RELEASE: tuple[Section, ...] = (
    Section("about", "About this report", "public", about_release),
    Section("data", "Public facts about the data", "public", data_release),
    Section("set", "The set", "public", the_set_release),
    Section("privacy", "Budget and guarantee", "public", privacy_release),
    Section("plan", "The plan in words", "public", plan_section),
    Section("certificates", "Certificates", "public", certificates_section),
    Section("ways", "Alternative mechanisms", "public", alternatives_section),
    Section(
        "coefficients",
        "The released models",
        "release",
        coefficients_release,
        suits=no_trees,
    ),
    Section("trees", "The released models", "release", trees_release, suits=are_trees),
    Section("aggregates", "Released aggregates", "release", aggregates_release),
    Section("caveats", "Caveats", "public", caveats_release),
    Section("definitions", "Definitions", "public", definitions_release),
    Section("reproduce", "How to reproduce it", "public", reproduce_release),
)
