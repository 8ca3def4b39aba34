"""The sections of each edition, in their order: a new one is a function and a line here."""

from rashomon_explorer.report.sections import (
    about,
    aggregates,
    caveats,
    coefficients,
    data,
    definitions,
    fairness,
    importance,
    multiplicity,
    people,
    planning,
    privacy,
    reproduce,
    the_set,
    trees,
    width,
)
from rashomon_explorer.report.sections.base import Section

CURATOR: tuple[Section, ...] = (
    Section("about", "What this is", "internal", about.curator),
    Section("data", "The data", "curator", data.curator),
    Section("set", "The set", "curator", the_set.curator),
    Section("privacy", "Budget and guarantee", "internal", privacy.curator),
    Section("plan", "The plan in words", "public", planning.plan),
    Section("certificates", "Certificates", "public", planning.certificates),
    Section("ways", "Ways to buy this", "public", planning.ways),
    Section("multiplicity", "How much the models differ", "curator", multiplicity.curator),
    Section(
        "coefficients",
        "How far coefficients can move",
        "curator",
        coefficients.curator,
        suits=trees.no_trees,
    ),
    Section("trees", "The trees", "curator", trees.curator, suits=trees.are_trees),
    Section("importance", "What the models rely on", "curator", importance.curator),
    Section("width", "Width or noise?", "curator", width.curator),
    Section("fairness", "Group gaps over the set", "curator", fairness.curator),
    Section("people", "Who is affected", "curator", people.curator),
    Section("caveats", "What to be careful about", "public", caveats.curator),
    Section("definitions", "Definitions", "public", definitions.curator),
    Section("reproduce", "How to make it again", "internal", reproduce.curator),
)

RELEASE: tuple[Section, ...] = (
    Section("about", "What this is", "public", about.release),
    Section("data", "What is public of the data", "public", data.release),
    Section("set", "The set", "public", the_set.release),
    Section("privacy", "Budget and guarantee", "public", privacy.release),
    Section("plan", "The plan in words", "public", planning.plan),
    Section("certificates", "Certificates", "public", planning.certificates),
    Section("ways", "Ways to buy this", "public", planning.ways),
    Section(
        "coefficients",
        "The released models",
        "release",
        coefficients.release,
        suits=trees.no_trees,
    ),
    Section("trees", "The released models", "release", trees.release, suits=trees.are_trees),
    Section("aggregates", "Released aggregates", "release", aggregates.release),
    Section("caveats", "What to be careful about", "public", caveats.release),
    Section("definitions", "Definitions", "public", definitions.release),
    Section("reproduce", "How to make it again", "public", reproduce.release),
)
