"""Where the files that travel with the package are, and the figure library that a page loads."""

from functools import cache
from importlib.util import find_spec
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


@cache
def plotly_module() -> bytes:
    r"""Return plotly.js as a module whose default is Plotly, of the version that is installed.

    >>> plotly_module().endswith(b"export default Plotly;\n")
    True
    """
    found = find_spec("plotly")  # found, not imported: the server only hands the file on
    if found is None or found.origin is None:
        raise ModuleNotFoundError("plotly is not installed; install rashomon-explorer again")
    code = (Path(found.origin).parent / "package_data" / "plotly.min.js").read_bytes()
    return _HEAD + code + _TAIL


# The library must not see an AMD `define` (require.js is on classic notebook pages) and must not
# replace another's Plotly.
_HEAD = b"const before = globalThis.Plotly;\n(function (module, exports, define) {\n"
_TAIL = (
    b"\n}).call(globalThis);\nconst Plotly = globalThis.Plotly;\n"
    b"if (before) globalThis.Plotly = before;\nexport default Plotly;\n"
)
