"""Message for a missing package of the extra ``app``: figures, reports, dashboard."""


def app_missing(purpose: str, package: str | None) -> ImportError:
    """Return an ImportError that says what to install."""
    name = (package or "").partition(".")[0]
    return ImportError(
        f"{purpose} needs {name}, which is not installed. Install it with all that figures, "
        "reports and the dashboard need: pip install 'rashomon-explorer[app]'",
        name=name,
    )
