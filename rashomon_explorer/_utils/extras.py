"""Message for a missing package of an extra."""


def missing_package(purpose: str, package: str | None, extra: str = "app") -> ImportError:
    """Return an ImportError that says what to install."""
    name = (package or "").partition(".")[0]
    with_what = " with all that figures, reports and the dashboard need" if extra == "app" else ""
    return ImportError(
        f"{purpose} needs {name}, which is not installed. Install it{with_what}: "
        f"pip install 'rashomon-explorer[{extra}]'",
        name=name,
    )
