"""What pages in docs/ and benchmarks/ and README.md show, link, cite and name is right."""

import ast
import doctest
import json
import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

from rashomon_explorer import exceptions

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES, THEORY = sorted(DOCS.glob("*.md")), sorted((DOCS / "theory").glob("*.md"))
BENCHMARKS = ROOT / "benchmarks" / "README.md"
EXECUTED = [page for page in [*PAGES, *THEORY] if ">>> " in page.read_text(encoding="utf-8")]
TOLERANT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LINK = re.compile(
    r"\]\(((?:(?:\.\./)*[\w/-]+\.\w+)?)(?:#([\w-]+))?\)"
)  # not the brackets of a formula
MARKED = re.compile(r"^<!-- needs (\w+) -->\n```python\n.*?^```\n", re.MULTILINE | re.DOTALL)
FRONT_PAGE = (ROOT / "README.md").read_text(encoding="utf-8")


def failures(text, package=None):
    """Failed examples of a page, of marked blocks those that need this package alone."""

    def kept(block):
        return block[0] if block[1] == package else "\n" * block[0].count("\n")

    examples = doctest.DocTestParser().get_doctest(MARKED.sub(kept, text), {}, "page", None, 0)
    return doctest.DocTestRunner(optionflags=TOLERANT).run(examples).failed


# Pages whose examples take ten seconds or more run with the laws.
LONG_PAGES = ("choose", "explorer", "many-models")
QUICK_PAGES = [page for page in EXECUTED if page.stem not in LONG_PAGES]


def page_name(page):
    return page.relative_to(DOCS).with_suffix("").as_posix()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, marks=() if page in QUICK_PAGES else pytest.mark.slow, id=page_name(page)
        )
        for page in EXECUTED
    ],
)
def test_pages_show_what_happens(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for the files that examples write
    assert failures(page.read_text(encoding="utf-8")) == 0


NEEDED = [
    pytest.param(page, name, id=f"{page.stem}-{name}")
    for page in PAGES
    for name in dict.fromkeys(MARKED.findall(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize(("page", "package"), NEEDED)
def test_a_block_that_needs_another_package_runs_where_it_is(page, package, tmp_path, monkeypatch):
    pytest.importorskip(package, exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    assert failures(page.read_text(encoding="utf-8"), package) == 0


def test_a_marked_block_runs_if_its_package_is_asked_for():
    block = "<!-- needs {} -->\n```python\n>>> {}\n1\n\n```\n"
    page = ">>> a = 1\n\n" + block.format("this", "a") + block.format("that", "a + 1")
    assert [failures(page, name) for name in (None, "this", "that")] == [0, 0, 1]


SNIPPETS = re.findall(r"^```python\n(.*?)^```", FRONT_PAGE, flags=re.MULTILINE | re.DOTALL)


def test_snippets_of_the_front_page_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert len(SNIPPETS) >= 3
    names = {}
    for snippet in SNIPPETS:
        exec(snippet, names)
    printed = capsys.readouterr().out
    assert "42 of 569 people" in printed and "400 models" in printed  # as in the comments beside


@pytest.mark.slow
def test_the_charged_snippet_of_the_front_page_runs_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (charged,) = (snippet for snippet in SNIPPETS if "Ledger.create" in snippet)
    for _ in range(2):
        exec(charged, {})
        assert "400 models" in capsys.readouterr().out


def broken_links(page):
    """Relative links of a page whose file or anchor does not exist."""
    broken = []
    for file, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{file}#{anchor}")
    return broken


def anchors(page):
    """Anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_links_lead_somewhere():
    pages = [ROOT / "README.md", BENCHMARKS, *PAGES, *THEORY]
    assert {page.name: broken_links(page) for page in pages if broken_links(page)} == {}


def test_a_broken_link_is_noticed(tmp_path):
    (tmp_path / "b.md").write_text("## A title, here\n", encoding="utf-8")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md#a-title-here) [2](b.md#other) [3](c.md)\n", encoding="utf-8")
    assert broken_links(page) == ["b.md#other", "c.md#"]


def test_every_page_is_listed():
    sections = ("index", "how-to", "explanation", "contributors", "theory")
    words = "".join((DOCS / f"{name}.md").read_text(encoding="utf-8") for name in sections)
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", words))
    assert listed == {page.name for page in PAGES} - {"index.md"}


def test_every_error_and_warning_is_explained():
    classes = [value for value in vars(exceptions).values() if isinstance(value, type)]
    own = {kind.__name__ for kind in classes if kind.__module__ == exceptions.__name__}
    named = re.findall(r"`(\w+)`", (DOCS / "errors.md").read_text(encoding="utf-8"))
    assert len(own) > 20 and own <= set(named)


def test_the_index_of_theory_has_every_page_and_every_cited_section():
    """Docstrings, messages and stored guarantees cite sections of docs/theory.md by number."""
    index = (DOCS / "theory.md").read_text(encoding="utf-8")
    sections = []
    for page in THEORY:
        assert f"(theory/{page.name})" in index
        sections += re.findall(r"^## (\d+)\. ", page.read_text("utf-8"), re.MULTILINE)
    assert len(sections) == len(set(sections))
    assert set(re.findall(r"§(\d+)", index)) == set(sections)
    sources = [*(ROOT / "rashomon_explorer").rglob("*.py"), *DOCS.rglob("*.md")]
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    cited = set(re.findall(r"theory(?:\.md)?(?:\]\([\w./]+\))? §(\d+)", text))
    assert len(cited) > 10 and cited <= set(sections)


NOTEBOOKS = sorted((ROOT / "apps").glob("*.ipynb"))


def _shown(source, space):
    """Run a cell; its last line's value is what the notebook would show."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    if last is not None:
        return eval(compile(ast.Expression(last.value), "cell", "eval"), space)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_and_a_guided_one_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert all(len(source.splitlines()) <= 10 for source in sources)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    if path.stem == "explorer":
        lines = re.findall(r"from rashomon_explorer[\w.]* import [\w, ]+", "".join(sources))
        assert lines and len(cells) <= 3
        exec("\n".join(lines), {})
        return
    space = {}
    assert sum(_shown(source, space) is not None for source in sources) >= 2
    assert list(tmp_path.iterdir()) == []


PAPERS = (DOCS / "papers.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in PAPERS.splitlines()
    if line.startswith("| ") and not line.startswith("| statement")
]


@cache
def named_in(file):
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_statement_of_papers_has_code_and_a_test_or_a_reason():
    assert len(re.findall(r"^## ", PAPERS, re.MULTILINE)) == 6 and len(ROWS) > 90
    for statement, code, *tests in ROWS:
        if code.startswith("not here: "):
            assert len(code) > 20 and not any(tests), statement
            continue
        named = re.findall(r"`([\w.]+\.\w+)`", code)
        assert statement and named, statement
        for name in named:
            outside = name.startswith(("tests.", "benchmarks."))
            assert resolve_name(name if outside else f"rashomon_explorer.{name}") is not None
        cited = re.findall(r"`([\w/]+\.py)::(\w+)`", tests[0])
        assert cited and all(test in named_in(file) for file, test in cited), statement


def test_a_name_that_is_gone_is_noticed():
    with pytest.raises(AttributeError):
        resolve_name("benchmarks.instances.no_such_thing")
    assert "test_no_such_thing" not in named_in("test_pages.py")
