"""The file itself: whole, offline, escaped, readable by machines that read aloud."""

import re
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import rashomon_explorer
from rashomon_explorer.plots import plot_tradeoff
from rashomon_explorer.plots.budget import tradeoff_table
from rashomon_explorer.privacy import pure
from rashomon_explorer.report import report
from rashomon_explorer.report.blocks import MOST_ROWS, Items, Plot, Table, Words
from rashomon_explorer.report.editions import Page
from rashomon_explorer.report.sections.document import Section, Skip

from .conftest import Reader, figures_of, read, words_of

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


@pytest.fixture(params=["curator", "release"])
def text(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(f"{request.param}_text")
    return found


def test_nothing_is_loaded_from_anywhere(text: str) -> None:
    page = Reader(text)
    addresses = [
        value
        for _, attrs in page.found
        for name, value in attrs.items()
        if name in {"src", "href", "srcset", "data", "action", "poster", "background"}
    ]
    assert addresses and all(str(value).startswith("#") for value in addresses)
    assert "@import" not in text.split("</style>")[0] and "url(" not in text.split("</style>")[0]


def test_the_page_forbids_itself_the_network(text: str) -> None:
    policy = Reader(text).all("meta")[1]["content"]
    assert policy is not None and policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy and "http" not in policy and "connect-src" not in policy
    assert "'unsafe-inline'" not in policy.split("style-src")[0]


def test_plotly_is_there_once(text: str) -> None:
    scripts = re.findall(r"<script>", text)
    assert len(scripts) == 2  # plotly's own and the report's
    assert len(text) < 6e6


def test_it_is_well_formed_and_can_be_read_aloud(text: str) -> None:
    page = Reader(text)
    assert page.balanced
    ids = [attrs["id"] for _, attrs in page.found if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = {attrs["aria-labelledby"] for attrs in page.all("section")}
    assert named <= set(ids)
    assert [tag for tag, _ in page.found if re.fullmatch("h[1-6]", tag)][:2] == ["h1", "h2"]
    assert len(page.all("h1")) == 1
    assert len(page.all("caption")) == len(page.all("table")) > 5
    assert all(attrs["scope"] in ("row", "col") for attrs in page.all("th"))
    plots = [attrs for attrs in page.all("div") if attrs.get("class") == "plot"]
    assert plots and all(len(attrs["aria-label"] or "") > 20 for attrs in plots)
    assert page.all("html")[0]["lang"] == "en"
    links = {attrs["href"] for attrs in page.all("a")}
    assert {str(link)[1:] for link in links} <= set(ids)


def test_every_figure_has_its_numbers_in_a_table(text: str) -> None:
    assert text.count("<figure>") == text.count("The numbers behind this figure") > 3


@pytest.mark.parametrize("edition", ["curator", "release"])
def test_what_users_write_is_never_markup(
    edition: str, models: Any, rows: Any, tmp_path: Path
) -> None:
    X, y, groups = rows
    names = (ATTACK, *models.feature_names[1:])
    given = replace(models, feature_names=names, classes=(f"no{ATTACK}", f"yes{ATTACK}"))
    public = {"title": ATTACK, "target": ATTACK, "date": ATTACK, "bounds": {ATTACK: (0.0, 1.0)}}
    if edition == "curator":
        named = groups.map(lambda group: group + ATTACK).rename(ATTACK)
        labels = pd.Series(y).map(dict(enumerate(given.classes))).to_numpy()
        path = report(given, tmp_path / "c.html", X.to_numpy(), labels, groups=named, **public)
    else:
        path = report(given.release(), tmp_path / "c.html", **public)
    text = read(path)
    page = Reader(text)
    assert page.balanced and not page.all("img") and text.count("<script>") == 2
    assert not [attrs for _, attrs in page.found if any(name.startswith("on") for name in attrs)]
    assert ATTACK in words_of(text)
    assert len(figures_of(text)) > 2
    shown = "".join(str(figure) for figure in figures_of(text))
    assert "<script" not in shown and "<img" not in shown


def test_without_scripts_there_are_tables(models: Any, rows: Any, tmp_path: Path) -> None:
    text = read(report(models, tmp_path / "c.html", *rows[:2], interactive=False))
    assert "<script" not in text and "script-src 'none'" in text and len(text) < 2e5
    assert Reader(text).balanced and "Losses of the draws" in text


def test_the_same_inputs_give_the_same_bytes(models: Any, rows: Any, tmp_path: Path) -> None:
    one, two = (report(models, tmp_path / f"{k}.html", *rows[:2]).read_bytes() for k in (1, 2))
    assert one == two
    dated = report(models, tmp_path / "3.html", *rows[:2], date="1 May 2026")
    assert "1 May 2026" in words_of(read(dated))


def test_nothing_is_overwritten_unasked(models: Any, tmp_path: Path) -> None:
    place = tmp_path / "card.html"
    place.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        report(models.release(), place)
    assert place.read_text() == "mine"
    report(models.release(), place, overwrite=True)
    assert place.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_half_a_report_is_never_found(
    models: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError, match="disk full"):
        report(models.release(), tmp_path / "card.html")
    assert not list(tmp_path.iterdir())


def test_no_folder_is_said_before_anything_is_computed(models: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        report(models.release(), tmp_path / "nowhere" / "card.html")


def test_a_curators_file_is_its_owners_alone(models: Any, tmp_path: Path) -> None:
    mode = stat.S_IMODE(report(models, tmp_path / "c.html").stat().st_mode)
    public = stat.S_IMODE(report(models.release(), tmp_path / "r.html").stat().st_mode)
    assert (mode, public) == (0o600, 0o644)


def test_an_unmarked_figure_in_a_curators_section_is_a_bug(models: Any) -> None:
    table = tradeoff_table(models.guarantee)
    bare = Plot(plot_tradeoff(table), "a curve", Table(table, "a table"))
    section = Section("x", "X", "curator", lambda given: [bare])
    with pytest.raises(AssertionError, match="no curator band"):
        Page("x", "curator").write([section], None)


def test_what_is_left_out_is_listed_and_a_bug_is_not_hidden() -> None:
    def skips(given: Any) -> list[Any]:
        raise Skip("it <needs> rows")

    def fails(given: Any) -> list[Any]:
        raise ValueError("a bug")

    page = Page("x", "curator", interactive=False)
    text = page.write([Section("x", "Rows", "curator", skips)], None)
    assert "<b>Rows:</b> it &lt;needs&gt; rows" in text
    with pytest.raises(ValueError, match="a bug"):
        page.write([Section("x", "Rows", "curator", fails)], None)


def test_long_tables_are_cut_and_say_so() -> None:
    frame = pd.DataFrame({"value": range(1000)})
    text = Table(frame, "Many").html(Page("x", "curator"))
    assert f"first {MOST_ROWS} of 1,000 rows" in text and text.count("<tr>") == MOST_ROWS + 1


def test_cells_are_written_for_people() -> None:
    frame = pd.DataFrame([[True, 0.123456, float("nan"), float("inf"), 12345, "a<b"]])
    text = Table(frame, "Cells").html(Page("x", "curator"))
    assert re.findall(r"<td[^>]*>(.*?)</td>", text) == [
        *("yes", "0.1235", "–", "∞", "12,345", "a&lt;b")
    ]


def test_a_price_past_the_range_of_doubles_has_a_curve() -> None:
    curve = tradeoff_table(pure(800.0))["misses at least"]
    assert curve.iloc[0] == 1.0 and (curve.iloc[1:] == 0.0).all()


def test_blocks_escape() -> None:
    page = Page("x", "curator")
    assert "<b>x" not in Words("<b>x").html(page) and "<i>" not in Items({"<i>": "<i>"}).html(page)


def test_the_version_is_the_packages(release_text: str) -> None:
    assert f"rashomon-explorer {rashomon_explorer.__version__}" in words_of(release_text)
