"""Sections of each edition, in order; each one is a function and a line here."""

from rashomon_explorer.report.sections import document, models, people, privacy
from rashomon_explorer.report.sections.document import Section

CURATOR: tuple[Section, ...] = (
    Section("about", "About this report", "internal", document.about_curator),
    Section("data", "The data", "curator", models.data_curator),
    Section("set", "The set", "curator", models.the_set_curator),
    Section("privacy", "Budget and guarantee", "internal", privacy.privacy_curator),
    Section("plan", "The plan in words", "public", privacy.plan_section),
    Section("certificates", "Certificates", "public", privacy.certificates_section),
    Section("ways", "Alternative mechanisms", "public", privacy.alternatives_section),
    Section("multiplicity", "How much the models differ", "curator", people.multiplicity_curator),
    Section(
        "coefficients",
        "Ranges of coefficients",
        "curator",
        models.coefficients_curator,
        suits=models.no_trees,
    ),
    Section("trees", "The trees", "curator", models.trees_curator, suits=models.are_trees),
    Section("importance", "Importance of features", "curator", people.importance_curator),
    Section("width", "Model-set width and mechanism noise", "curator", people.width_curator),
    Section("fairness", "Group gaps over the set", "curator", people.fairness_curator),
    Section("people", "Conflicting predictions by person", "curator", people.people_curator),
    Section("caveats", "Caveats", "public", document.caveats_curator),
    Section("definitions", "Definitions", "public", document.definitions_curator),
    Section("reproduce", "How to reproduce it", "internal", document.reproduce_curator),
)

RELEASE: tuple[Section, ...] = (
    Section("about", "About this report", "public", document.about_release),
    Section("data", "Public facts about the data", "public", models.data_release),
    Section("set", "The set", "public", models.the_set_release),
    Section("privacy", "Budget and guarantee", "public", privacy.privacy_release),
    Section("plan", "The plan in words", "public", privacy.plan_section),
    Section("certificates", "Certificates", "public", privacy.certificates_section),
    Section("ways", "Alternative mechanisms", "public", privacy.alternatives_section),
    Section(
        "coefficients",
        "The released models",
        "release",
        models.coefficients_release,
        suits=models.no_trees,
    ),
    Section(
        "trees", "The released models", "release", models.trees_release, suits=models.are_trees
    ),
    Section("aggregates", "Released aggregates", "release", privacy.aggregates_release),
    Section("caveats", "Caveats", "public", document.caveats_release),
    Section("definitions", "Definitions", "public", document.definitions_release),
    Section("reproduce", "How to reproduce it", "public", document.reproduce_release),
)
