"""Pictures in the bundle: drawn by the browser, of figures that are made of what leaves alone."""

import asyncio
import io
import json
import time
import zipfile
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.explorer import Explorer
from rashomon_explorer.explorer.export import bundle
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit, ToPicture
from rashomon_explorer.plots import plot_losses
from rashomon_explorer.release.released import from_released_values, released_values
from rashomon_explorer.sets import ReleasedSet

PNG, SVG = b"\x89PNG\r\n\x1a\n...", b"<svg class='main-svg'></svg>"


@pytest.fixture(scope="module")
def page(tmp_path_factory, cancer):
    explorer = Explorer(data=cancer, home=tmp_path_factory.mktemp("home"))
    for name, value in {"n_draws": 4, "mechanism": "langevin", "psi": 0.2, "epsilon": 1.0}.items():
        setattr(explorer.state, name, value)
    explorer.draw()
    explorer.basket_panel.table.ticked = {"ambiguity": 1.0}
    explorer.basket_panel.question.yes.click()
    return explorer


def _unzipped(content):
    archive = zipfile.ZipFile(io.BytesIO(content))
    return {name: archive.read(name) for name in archive.namelist()}


def test_figures_are_made_of_what_leaves_alone(page, tmp_path):
    """Figures can be made again from the files of models and aggregates: they tell nothing more."""
    given = page.aggregates.contents()
    held = _unzipped(bundle.bundle(given))
    (tmp_path / "models.npz").write_bytes(held["models.npz"])
    paid = [json.loads(json.dumps(released_values(one.released))) for one in given.purchases]
    outside = replace(
        given,
        models=ReleasedSet.load(tmp_path / "models.npz"),
        purchases=tuple(
            replace(one, released=from_released_values(written))
            for one, written in zip(given.purchases, paid, strict=True)
        ),
        schema=None,
        constants=None,
        account=None,
    )
    again = {name: figure.to_json() for name, figure in bundle.figures(outside).items()}
    assert set(again) == {"coefficients", "one_record", "aggregates_1"}
    for name, figure in again.items():
        assert json.loads(held[f"figures/{name}.json"]) == json.loads(figure)
        assert name in page.take_panel.bundle._prepare()().figures


def test_the_same_contents_give_the_same_bytes(page, cancer, monkeypatch):
    first = bundle.bundle(page.aggregates.contents())
    assert bundle.bundle(page.aggregates.contents()) == first
    monkeypatch.setattr("time.localtime", lambda *_: time.struct_time((2031, *[1] * 8)))
    again = Explorer(data=cancer, home=page.session.home)
    again.session.replan()
    held, other = _unzipped(first), _unzipped(bundle.bundle(again.aggregates.contents()))
    assert [name for name in held if held[name] != other.get(name)] == []
    pages = [held[name] for name in held if name.startswith("figures/") and name.endswith("html")]
    assert len(pages) == 3 and all(b'<div id="' in one for one in pages)


def test_a_figure_of_private_rows_may_not_leave(page, monkeypatch):
    curator = plot_losses(page.rashomon_set)
    monkeypatch.setattr(bundle, "plot_tradeoff", lambda *_: curator)
    with pytest.raises(CuratorOnlyError, match="one_record reads private rows"):
        bundle.figures(page.aggregates.contents())
    with pytest.raises(CuratorOnlyError):
        page.take_panel.bundle.fetch()


def test_pictures_of_its_own_figures_are_in_the_bundle_and_no_others(page):
    given = page.aggregates.contents()
    drawn = {"coefficients.png": PNG, "coefficients.svg": SVG, "one_record.png": PNG}
    others = {
        "losses.png": PNG,
        "../coefficients.png": PNG,
        "coefficients.exe": b"MZ",
        "one_record.svg": b"<script>",
    }
    held = _unzipped(bundle.bundle(given, {**drawn, **others}))
    plain = _unzipped(bundle.bundle(given))
    assert set(held) - set(plain) == {f"figures/{name}" for name in drawn}
    assert held["figures/coefficients.png"] == PNG
    assert b"PNG for slides" in held["README.txt"] and b"PNG" not in plain["README.txt"]


def _pressed(answers, finish, monkeypatch):
    sent, failed = [], []
    figures = {"one": go.Figure(go.Scatter(y=[1, 2]))}
    button = Download("Save", "a file", lambda: lambda: ToPicture(figures, finish), failed.append)

    def send(message, buffers=None):
        sent.append((message, buffers))
        if message["type"] == "draw":
            for name, content in answers:
                button._receive(button, {"type": "picture", "name": name}, [content])

    async def press():
        monkeypatch.setattr(button, "send", send)
        button._receive(button, {"type": "asked"}, None)
        await button._task

    asyncio.run(press())
    assert not failed and not button.making
    return sent


def test_the_browser_draws_before_the_file_is_made(monkeypatch):
    answers = [("one.png", PNG), ("one.svg", memoryview(SVG)), ("", b"")]
    told, handed = _pressed(
        answers, lambda drawn: FileInTransit("a", b"|".join(drawn.values())), monkeypatch
    )
    assert told[0]["type"] == "draw" and list(told[0]["figures"]) == ["one"]
    json.dumps(told[0])  # what is sent is plain
    assert handed[1] == [PNG + b"|" + SVG]


def test_without_an_answer_the_file_goes_without_pictures(monkeypatch):
    monkeypatch.setattr("rashomon_explorer.explorer.widgets.files._BEGUN", 0.01)
    monkeypatch.setattr("rashomon_explorer.explorer.widgets.files._BETWEEN", 0.01)
    _, handed = _pressed(
        [], lambda drawn: FileInTransit("a", str(dict(drawn)).encode()), monkeypatch
    )
    assert handed[1] == [b"{}"]
    _, handed = _pressed(
        [("one.png", PNG)], lambda drawn: FileInTransit("a", drawn["one.png"]), monkeypatch
    )
    assert handed[1] == [PNG]


def test_a_script_makes_the_file_at_once():
    figures = {"one": go.Figure()}
    made = Download(
        "Save", "", lambda: lambda: ToPicture(figures, lambda _: FileInTransit("a", b"x")), print
    )
    assert made.fetch() == FileInTransit("a", b"x")


def test_the_total_of_a_bundle_counts_what_was_bought_with_it(page):
    given = page.aggregates.contents()
    assert len(given.purchases) == 1
    alone = replace(given, purchases=())
    assert alone.guarantees == (given.models.guarantee,)
    assert given.guarantees == (given.models.guarantee, given.purchases[0].released.guarantee)
    assert given.total > alone.total
