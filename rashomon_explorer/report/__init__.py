"""Reports: one self-contained HTML file, in an edition for the curator or for release.

Each edition is a function with its own input type: neither accepts the input of the other, and the
one for releases has no argument for rows. ``report`` calls the function that fits its input.
"""

from rashomon_explorer._utils.imports import missing_package

try:
    from rashomon_explorer.report.editions import curator_report, release_report, report
except ModuleNotFoundError as error:
    raise missing_package("A report", error.name) from error

__all__ = ["curator_report", "release_report", "report"]
