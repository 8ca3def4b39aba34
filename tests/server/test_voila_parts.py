"""Voilà's scripts in one file: every part that is asked for at once, as it was, and no other."""

import re
from pathlib import Path

from voila.paths import collect_static_paths

from rashomon_explorer.server.pages import joined_parts

STRICT = '"use strict";push([[7,8],{7:(e)=>{e.seven=1}}]);//# sourceMappingURL=7.map'


def _put(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, code in files.items():
        (folder / f"{name.strip('_')}{'.voila.js' if name != 'main' else ''}").write_text(code)
    if (folder / "main").exists():
        (folder / "main").rename(folder / "voila.js")
    return folder


def test_parts_are_those_that_the_first_script_names(tmp_path: Path) -> None:
    """Once each; what has no file is shared between bundles, and what is not named waits."""
    own = _put(tmp_path / "own", main="Promise.all([r.e(7),r.e(9),x.e(7)]),x.e(11)", _11="own()")
    base = _put(tmp_path / "base", _7=STRICT, _9="nine()", _10="ten()", _11="base()")
    joined = joined_parts([own, base]).decode()
    assert joined == f"(()=>{{{STRICT}\n}})();\n(()=>{{nine()\n}})();\n(()=>{{own()\n}})();\n"
    assert joined_parts([base]) == b"" == joined_parts([])


def test_the_installed_scripts_are_of_the_kind_that_is_known() -> None:
    """Fails where Voilà builds its scripts in another way: pages ask for sixty files then."""
    folders = collect_static_paths(["voila", "nbconvert"], "lab")
    joined = joined_parts(folders)
    assert len(re.findall(rb"\n\}\)\(\);\n", joined)) > 40
    assert len(re.findall(rb"webpackChunk_JUPYTERLAB_CORE_OUTPUT\|\|\[\]\)\.push", joined)) > 40
