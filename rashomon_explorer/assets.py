"""Where the files that travel with the package are."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def asset_path(name: str) -> Path:
    """Path of a shipped file or folder, such as ``"datasets/catalog.toml"`` or ``"apps"``.

    From the wheel's ``_assets`` folder, or from the checkout of an editable install.

    >>> asset_path("datasets/catalog.toml").name
    'catalog.toml'
    """
    for root in (_PACKAGE / "_assets", _PACKAGE.parent):
        path = root / name
        if path.exists():
            return path
    raise FileNotFoundError(f"{name!r} is neither in the installed package nor beside the checkout")
