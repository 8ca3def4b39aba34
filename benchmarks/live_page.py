"""The dashboard with 5,000 models to draw for 10,000 people: ``python -m benchmarks.live_page``."""

import json
import os
import sys
import tempfile
from pathlib import Path

from rashomon_explorer import Explorer, load_dataset
from rashomon_explorer._utils.assets import asset_path
from rashomon_explorer.explorer.table_editor import TableEditor

MODELS, PEOPLE = 5_000, 10_000
_CELL = "from benchmarks.live_page import many\nexplorer = many()\nexplorer"


def many(models: int = MODELS, people: int = PEOPLE) -> Explorer:
    """Return a page on which Draw makes that many models, unseen so far and without a price."""
    data = load_dataset("lending")
    rows = data.frame.sample(people, random_state=0).reset_index(drop=True)
    explorer = Explorer()
    explorer.session.choose(TableEditor("loans", rows, data.schema).data())
    for name, value in {"mechanism": "hit_and_run", "n_draws": models, "psi": 0.02}.items():
        setattr(explorer.state, name, value)
    return explorer


def serve(port: int) -> None:
    """Serve it as the dashboard's own page is served."""
    from rashomon_explorer.server import dashboard
    from rashomon_explorer.server.settings import Serving

    notebook = json.loads((asset_path("apps") / "explorer.ipynb").read_text(encoding="utf-8"))
    notebook["cells"][0]["source"] = _CELL
    home = Path.cwd()
    (home / "explorer.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="rashomon-explorer-") as scratch:
        os.environ.update(dashboard.kernel_environment(scratch, home))
        page = dashboard.Dashboard(
            Serving(home, port=port, token="bench"), connection_dir_root=scratch
        )
        page.root_dir, page.notebook_path = str(home), str(home / "explorer.ipynb")
        page.initialize([])
        page.start()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
