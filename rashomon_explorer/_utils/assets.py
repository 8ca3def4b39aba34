"""Files shipped with the package, including plotly.js, and its environment variables."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

HOME_VARIABLE = "RASHOMON_EXPLORER_HOME"
"""Environment variable that names the folder of the ledgers."""

DEMO_VARIABLE = "RASHOMON_EXPLORER_DEMO"
"""Environment variable of a public demo."""

TABLE_VARIABLE = "RASHOMON_EXPLORER_TABLE"
"""Environment variable with ``path``, ``target`` and ``schema`` of a chunked table, as JSON."""

_PACKAGE = Path(__file__).resolve().parent.parent


def asset_path(name: str) -> Path:
    """Path of a shipped file or folder, such as ``"datasets/catalog.toml"`` or ``"apps"``."""
    for root in (_PACKAGE / "_assets", _PACKAGE.parent):
        path = root / name
        if path.exists():
            return path
    raise FileNotFoundError(f"{name!r} is neither in the installed package nor in the checkout")


@cache
def plotly_module() -> bytes:
    r"""Return plotly.js of the installed version as a module with Plotly as default export."""
    spec = find_spec("plotly")  # located but not imported: the server only sends the file
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("plotly is not installed; install it, or this package, again")
    return as_module((Path(spec.origin).parent / "package_data" / "plotly.min.js").read_bytes())


def as_module(code: bytes) -> bytes:
    r"""Return the source of plotly.js as a module."""
    unwrapped, heads = _HEAD.subn(b"", code, count=1)
    unwrapped, tails = _TAIL.subn(b"", unwrapped, count=1)
    if not (heads and tails):
        return _INSIDE + code + _OUTSIDE + _DEFAULT
    lazy, lists = _REGISTERED.subn(_with_defer, unwrapped)
    return _ALONE + (lazy + _KINDS if lists == 1 else unwrapped) + _DEFAULT


def _with_defer(match: re.Match[bytes]) -> bytes:
    return match[1] + b".later=[" + match[2].replace(b"()", b"") + b"]"


# The wrapper of the library for script loaders, and the list of all trace types.
_HEAD = re.compile(rb'(?s)\(\s*function\(root, factory\) \{.*?"use strict";(?=var Plotly=)')
_TAIL = re.compile(rb"window\.Plotly = Plotly;\s*return Plotly;\s*\}\)\);\s*\Z")
_REGISTERED = re.compile(rb"([\w$]+)\.register\(\[((?:[\w$]+\(\),?)+)\]\)")

# The library must not see an AMD `define` (classic notebook pages load require.js) and must not
# replace another Plotly.
_ALONE = b"const module = undefined, exports = undefined, define = undefined;\n"
_INSIDE = b"const before = globalThis.Plotly;\n(function (module, exports, define) {\n"
_OUTSIDE = (
    b"\n}).call(globalThis);\nconst Plotly = globalThis.Plotly;\n"
    b"if (before) globalThis.Plotly = before;\n"
)
_DEFAULT = b"export default Plotly;\n"

_KINDS = b"""
const known = new Set(["scatter"]);
function learn(data) {
  for (const { type } of Array.isArray(data) ? data : [])
    while (type && !known.has(type) && Plotly.later.length) {
      const kind = Plotly.later.shift()();
      Plotly.register(kind);
      known.add(kind.name);
    }
}
for (const name of ["newPlot", "react", "toImage"]) {
  const draw = Plotly[name];
  Plotly[name] = (place, what, ...more) => {
    learn(place?.data);
    learn(what?.data ?? what);
    return draw(place, what, ...more);
  };
}
"""
