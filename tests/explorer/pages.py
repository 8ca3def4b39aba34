"""Presses, small paid results, and pages of chunked rows that tests of the explorer share."""

import io
import re
import zipfile
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer import data as tables
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.release import Purchase
from rashomon_explorer.explorer.table_editor import TableEditor
from rashomon_explorer.release import release
from rashomon_explorer.rows import chunk_rows

X, Y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50


def set_state(page, /, **settings):
    """Change settings together: one plan, and each figure once."""
    with page.session.together(), page.state.hold_trait_notifications():
        for name, value in settings.items():
            setattr(page.state, name, value)


def press(panel):
    """Press the button of a paid action, and yes where it asks."""
    panel.button.click()
    if panel.question.open:
        panel.question.yes.click()


def evaluated(lines, page):
    """Value of the last line of Python, after the others."""
    space: dict[str, Any] = {"explorer": page}
    *before, last = lines
    exec("\n".join(before), space)
    return eval(last, space)


def redrawn(card):
    """Title, words and number of traces of a figure."""
    card.redraw()
    layout = card.view.figure["layout"]
    words = " ".join(one["text"] for one in layout.get("annotations", ()))
    return layout["title"]["text"], words.replace("<br>", " "), len(card.view.figure["data"])


def unzipped(content):
    """Files of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def price_on(button):
    """The cost that a button shows: "Draw 20 models (ε = 4)"."""
    found = re.search(r"\((ε = .*)\)$", button.description)
    assert found, button.description
    return found[1]


def five_models():
    return RashomonClassifier(n_draws=5, epsilon=500.0, random_state=0).fit(X, Y).rashomon_set_


def purchase(models):
    """One aggregate of them."""
    asked = {"queries": ["ambiguity"], "epsilon": 1.0, "ledger": None, "random_state": 0}
    return Purchase(release(models.release(), X, Y, **asked), datetime(2026, 11, 23, 12, 30), 0.5)


N, PEOPLE, BLOCK = 900, 150, 160
FILE, GROUP = 300, 100  # rows of a file, and of a row group in it
SCHEMA = tables.TableSchema(
    [
        tables.Numeric("age", (18, 90)),
        tables.Numeric("debt", (0, 1), missing="indicator"),
        tables.Categorical("home", ["own", "rent"]),
        tables.Categorical("region", ["north", "south", "west"], role="sensitive"),
        tables.YesNo("repaid", ("no", "yes"), role="target"),
    ]
)


def loans_table():
    rng = np.random.default_rng(3)
    age, debt = rng.integers(18, 91, N), rng.uniform(0, 1, N).round(3)
    frame = pd.DataFrame({"age": age, "debt": np.where(rng.random(N) < 0.05, np.nan, debt)})
    frame["home"] = rng.choice(["own", "rent"], N)
    frame["region"] = rng.choice(["north", "south", "west"], N, p=[0.5, 0.3, 0.2])
    frame["repaid"] = np.where(age / 90 + rng.normal(0, 0.4, N) > debt, "yes", "no")
    return frame


def in_files(folder, frame):
    pytest.importorskip("pyarrow")
    folder.mkdir(exist_ok=True)
    for number, low in enumerate(range(0, len(frame), FILE)):
        part = frame.iloc[low : low + FILE]
        part.to_parquet(folder / f"part-{number}.parquet", row_group_size=GROUP, index=False)
    return folder


def chunked(folder):
    return replace(chunk_rows(folder, target="repaid"), rows=BLOCK)


def drawn(page):
    set_state(page, psi=0.3, n_draws=6, mechanism="exact", epsilon=6.0, radius=2.0)
    page.draw()
    return page


def chunked_page(home, frame=None, **options):
    """A page of a folder of Parquet files."""
    folder = in_files(home / "loans", loans_table() if frame is None else frame)
    return Explorer(chunked(folder), home=home, **{"schema": SCHEMA, **options})


def held_page(home):
    return Explorer(data=TableEditor("held", loans_table(), SCHEMA).data(), home=home)
