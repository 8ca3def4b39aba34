"""The file itself: whole, offline, escaped, readable by screen readers."""

import base64
import gzip
import hashlib
import re
import stat
from dataclasses import replace
from unittest.mock import Mock

import pandas as pd
import pytest

import rashomon_explorer
from rashomon_explorer.plots import plot_tradeoff
from rashomon_explorer.plots.budget import tradeoff_table
from rashomon_explorer.privacy import pure
from rashomon_explorer.report import report
from rashomon_explorer.report.blocks import Plot, Table
from rashomon_explorer.report.editions import Document
from rashomon_explorer.report.sections.document import Section, Skip

from .conftest import Reader, figures_of, read, words_of

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


@pytest.fixture(params=["curator", "release"])
def text(request):
    return request.getfixturevalue(f"{request.param}_text")


def test_nothing_is_loaded_from_anywhere_and_the_page_forbids_it(text):
    page, loads = Reader(text), {"src", "href", "srcset", "data", "action", "poster", "background"}
    addresses = [value for _, attrs in page.found for name, value in attrs.items() if name in loads]
    assert addresses and all(str(value).startswith("#") for value in addresses)
    assert "@import" not in text.split("</style>")[0] and "url(" not in text.split("</style>")[0]
    policy = page.all("meta")[1]["content"]
    assert policy is not None and policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy and "http" not in policy and "connect-src" not in policy
    assert "'unsafe-inline'" not in policy.split("style-src")[0]
    assert text.count("<script>") == 1 and len(text) < 2.5e6  # it unpacks Plotly's
    (packed,) = re.findall(r'<script type="application/gzip" id="plotly">(.*)</script>', text)
    script = gzip.decompress(base64.b64decode(packed))
    assert f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" in policy


def test_it_is_well_formed_and_can_be_read_aloud(text):
    page = Reader(text)
    assert page.balanced
    ids = [attrs["id"] for _, attrs in page.found if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = {attrs["aria-labelledby"] for attrs in page.all("section")}
    links = {str(attrs["href"])[1:] for attrs in page.all("a")}
    assert named | links <= set(ids)
    assert [tag for tag, _ in page.found if re.fullmatch("h[1-6]", tag)][:2] == ["h1", "h2"]
    assert len(page.all("h1")) == 1
    assert len(page.all("caption")) == len(page.all("table")) > 5
    assert all(attrs["scope"] in ("row", "col") for attrs in page.all("th"))
    plots = [attrs for attrs in page.all("div") if attrs.get("class") == "plot"]
    assert plots and all(len(attrs["aria-label"] or "") > 20 for attrs in plots)
    assert page.all("html")[0]["lang"] == "en"
    assert text.count("<figure>") == text.count("The numbers behind this figure") > 3
    assert f"rashomon-explorer {rashomon_explorer.__version__}" in words_of(text)


@pytest.mark.parametrize("edition", ["curator", "release"])
def test_what_users_write_is_never_markup(edition, models, rows, tmp_path):
    X, y, groups = rows
    names = (ATTACK, *models.feature_names[1:])
    named = replace(models, feature_names=names, classes=(f"no{ATTACK}", f"yes{ATTACK}"))
    public = {"title": ATTACK, "target": ATTACK, "date": ATTACK, "bounds": {ATTACK: (0.0, 1.0)}}
    if edition == "curator":
        groups = groups.map(lambda group: group + ATTACK).rename(ATTACK)
        labels = pd.Series(y).map(dict(enumerate(named.classes))).to_numpy()
        path = report(named, tmp_path / "c.html", X.to_numpy(), labels, groups=groups, **public)
    else:
        path = report(named.release(), tmp_path / "c.html", **public)
    text = read(path)
    page = Reader(text)
    assert page.balanced and not page.all("img") and text.count("<script>") == 1
    assert not [attrs for _, attrs in page.found if any(name.startswith("on") for name in attrs)]
    assert ATTACK in words_of(text) and len(figures_of(text)) > 2
    shown = "".join(str(figure) for figure in figures_of(text))
    assert "<script" not in shown and "<img" not in shown


def test_equal_inputs_give_equal_bytes_and_without_scripts_there_are_tables(models, rows, tmp_path):
    options = {"interactive": False, "date": "1 May 2026"}
    one, two = (read(report(models, tmp_path / k, *rows[:2], **options)) for k in ("1", "2"))
    assert one == two and "1 May 2026" in words_of(one)
    assert "<script" not in one and "script-src 'none'" in one and len(one) < 2e5
    assert Reader(one).balanced and "Losses of the draws" in one


def test_nothing_is_overwritten_and_half_a_report_is_never_found(models, tmp_path, monkeypatch):
    place, released = tmp_path / "card.html", models.release()
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        report(released, tmp_path / "nowhere" / "card.html")
    place.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        report(released, place)
    assert place.read_text() == "mine"
    report(released, place, overwrite=True, interactive=False)
    assert read(place).startswith("<!DOCTYPE html>")
    place.unlink()
    monkeypatch.setattr("os.replace", Mock(side_effect=OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        report(released, place)
    assert not list(tmp_path.iterdir())


def test_a_curators_file_is_its_owners_alone(models, tmp_path):
    paths = [
        report(one, tmp_path / f"{place}.html", interactive=False)
        for place, one in enumerate((models, models.release()))
    ]
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o600, 0o644]


def test_what_is_omitted_is_listed_and_a_bug_is_not_hidden(models):
    def skips(material):
        raise Skip("it <needs> rows")

    def fails(material):
        raise ValueError("a bug")

    def html(make):
        section = Section("x", "Rows", "curator", make)
        return Document("x", "curator", [section], None, interactive=False).html()

    text = html(skips)
    assert "<b>Rows:</b> it &lt;needs&gt; rows" in text
    with pytest.raises(ValueError, match="a bug"):
        html(fails)
    table = tradeoff_table(models.guarantee)
    bare = Plot(plot_tradeoff(table), "a curve", Table(table, "a table"))
    with pytest.raises(AssertionError, match="no curator band"):
        html(lambda material: [bare])


def test_a_cost_past_the_range_of_doubles_has_a_curve():
    curve = tradeoff_table(pure(800.0))["misses at least"]
    assert curve.iloc[0] == 1.0 and (curve.iloc[1:] == 0.0).all()
