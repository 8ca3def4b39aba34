"""Reports: one HTML file that needs nothing else, in a curator's edition and a release's.

They are two functions of two types, as figures are: neither takes the other's, and the release's
has no argument for rows. ``report`` calls the one that suits what it is given.
"""

from rashomon_explorer.report.editions import curator_report, release_report, report

__all__ = ["curator_report", "release_report", "report"]
