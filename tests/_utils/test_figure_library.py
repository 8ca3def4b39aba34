"""plotly.js as a page loads it: at the top of its module, its kinds of traces when asked for."""

import re
from importlib.util import find_spec
from pathlib import Path

from rashomon_explorer._utils.assets import as_module, plotly_module

_BUILT = b"""/** plotly.js, MIT */
(
 function(root, factory) {
  if (typeof module === "object") {
   module.exports = factory();
  } else {
   root.moduleName = factory();
  }
} (typeof self !== "undefined" ? self : this, () => {
"use strict";var Plotly=(()=>{var q=()=>0;R1.register([a$(),b_(),c()]);z.exports=R1})();
/*! MIT too */

window.Plotly = Plotly;
return Plotly;
}));"""


def test_the_library_stands_in_its_module_and_one_built_in_another_way_is_carried_whole():
    module = as_module(_BUILT)
    assert b"/** plotly.js, MIT */\nvar Plotly=(()=>{var q" in module and b"MIT too" in module
    assert b"R1.later=[a$,b_,c];z.exports" in module and b"window.Plotly" not in module
    for changed in (
        _BUILT.replace(b"root, factory", b"factory"),
        _BUILT.replace(b"return Plotly", b""),
    ):
        module = as_module(changed)
        assert changed in module and b"(function (module, exports, define) {" in module
        assert module.endswith(b"export default Plotly;\n")
    # Two lists that look alike, and none: which of them loads all kinds is not known.
    twice = _BUILT.replace(b"z.exports", b"R2.register([d(),e()]);z.exports")
    for built in (twice, _BUILT.replace(b".register([", b".enter([")):
        module = as_module(built)
        assert b".later" not in module and b"window.Plotly" not in module
        assert b"[a$(),b_(),c()]" in module


def test_the_installed_library_is_one_of_those():
    """Fails where plotly builds its library in another way: pages are a second slower then."""
    origin = Path(str(find_spec("plotly").origin)).parent
    module, built = plotly_module(), (origin / "package_data" / "plotly.min.js").read_bytes()
    assert b"\nvar Plotly=(()=>{" in module and module.count(b".later=[") == 1
    # Nothing of it is lost but what stands around it and forty-odd brackets.
    assert 0 <= len(built) - len(re.sub(rb"(?s)\nconst known = .*\Z", b"", module)) < 600
