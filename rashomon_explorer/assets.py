"""Where the files that travel with the package are: beside the checkout, or inside the wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def asset_path(name: str) -> Path:
    """Path of a shipped file or folder, such as ``"datasets/catalog.toml"`` or ``"apps"``.

    Parameters
    ----------
    name : str
        Path relative to the top of the repository.

    Returns
    -------
    pathlib.Path
        The file in the wheel's ``_assets`` folder, or in the checkout of an editable install.

    Raises
    ------
    FileNotFoundError
        If neither place has it.

    Examples
    --------
    >>> asset_path("datasets/catalog.toml").name
    'catalog.toml'
    """
    for root in (_PACKAGE / "_assets", _PACKAGE.parent):
        path = root / name
        if path.exists():
            return path
    raise FileNotFoundError(f"{name!r} is neither in the installed package nor beside the checkout")
