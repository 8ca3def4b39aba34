"""Contract of all editions: sections, marks, offline, escaped, readable by screen readers."""

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
from rashomon_explorer.report import report
from rashomon_explorer.report.blocks import Plot, Table
from rashomon_explorer.report.editions import Document
from rashomon_explorer.report.sections import CURATOR, RELEASE
from rashomon_explorer.report.sections.document import Section, Skip

from .conftest import Reader, figures_of, read, words_of

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
EDITIONS = {
    "curator_text": ("models", CURATOR),
    "release_text": ("models", RELEASE),
    "tree_curator": ("tree_models", CURATOR),
    "tree_release": ("tree_models", RELEASE),
}


@pytest.fixture(params=EDITIONS)
def edition(request):
    models, sections = EDITIONS[request.param]
    return request.getfixturevalue(request.param), request.getfixturevalue(models), sections


def test_every_section_is_there_or_says_why_not_and_has_the_bands_of_its_figures(edition):
    text, models, sections = edition
    reasons = words_of(text).partition("Not in this report, and why")[2]
    for section in sections:
        there = f'<section id="{section.key}" class="{section.view}"' in text
        suits = section.suits(models)
        assert there or f"{section.title}:" in reasons if suits else not there
    views = {section.key: section.view for section in sections}
    private = 0
    for part in text.split("<section ")[1:]:
        for figure in figures_of(part):
            shapes = figure["layout"].get("shapes", [])
            bands = [shape["label"]["text"] for shape in shapes if "label" in shape]
            marked = any("curator view: not private" in band for band in bands)
            assert marked or views.get(part.split('"')[1]) != "curator"
            assert not marked or sections is CURATOR
            private += marked
    assert (private >= 7) == (sections is CURATOR)


def test_nothing_is_loaded_from_anywhere_and_the_page_forbids_it(edition):
    text = edition[0]
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


def test_it_is_well_formed_and_can_be_read_aloud(edition):
    text = edition[0]
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


@pytest.mark.parametrize("released", [False, True])
def test_what_users_write_is_never_markup(released, models, rows, tmp_path):
    X, y, groups = rows
    names = (ATTACK, *models.feature_names[1:])
    named = replace(models, feature_names=names, classes=(f"no{ATTACK}", f"yes{ATTACK}"))
    public = {"title": ATTACK, "target": ATTACK, "date": ATTACK, "bounds": {ATTACK: (0.0, 1.0)}}
    labels = pd.Series(y).map(dict(enumerate(named.classes))).to_numpy()
    private = (X.to_numpy(), labels)
    if released:
        named, private = named.release(), ()
    else:
        public["groups"] = groups.map(lambda group: group + ATTACK).rename(ATTACK)
    text = read(report(named, tmp_path / "c.html", *private, **public))
    page = Reader(text)
    assert page.balanced and not page.all("img") and text.count("<script>") == 1
    assert not [attrs for _, attrs in page.found if any(name.startswith("on") for name in attrs)]
    assert ATTACK in words_of(text) and len(figures_of(text)) > 2
    shown = "".join(str(figure) for figure in figures_of(text))
    assert "<script" not in shown and "<img" not in shown


@pytest.mark.slow
def test_equal_inputs_give_equal_bytes_and_without_scripts_there_are_tables(models, rows, tmp_path):
    options = {"interactive": False, "date": "1 May 2026"}
    one, two = (read(report(models, tmp_path / k, *rows[:2], **options)) for k in ("1", "2"))
    assert one == two and "1 May 2026" in words_of(one)
    assert "<script" not in one and "script-src 'none'" in one and len(one) < 2e5
    assert Reader(one).balanced and "Losses of the draws" in one


def test_a_file_is_whole_its_owners_and_never_overwritten(models, tmp_path, monkeypatch):
    path, released = tmp_path / "card.html", models.release()
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        report(released, tmp_path / "nowhere" / "card.html")
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        report(released, path)
    assert path.read_text() == "mine"
    for edition, mode in (("curator", 0o600), ("release", 0o644)):
        Document("x", edition, [], None, interactive=False).save(path)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert read(path).startswith("<!DOCTYPE html>")
        path.unlink()
    monkeypatch.setattr("os.replace", Mock(side_effect=OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        report(released, path)
    assert not list(tmp_path.iterdir())


def test_what_is_omitted_is_listed_and_a_bug_is_not_hidden(models):
    def html(make):
        section = Section("x", "Rows", "curator", make)
        return Document("x", "curator", [section], None, interactive=False).html()

    def fail(error):
        raise error

    text = html(lambda material: fail(Skip("it <needs> rows")))
    assert "<b>Rows:</b> it &lt;needs&gt; rows" in text
    with pytest.raises(ValueError, match="a bug"):
        html(lambda material: fail(ValueError("a bug")))
    table = tradeoff_table(models.guarantee)
    bare = Plot(plot_tradeoff(table), "a curve", Table(table, "a table"))
    with pytest.raises(AssertionError, match="no curator band"):
        html(lambda material: [bare])
