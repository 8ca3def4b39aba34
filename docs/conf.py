"""Settings of the documentation site, which `make docs` builds without a network."""

import ast
import doctest
import inspect
import os
import re
import runpy
import shutil
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from importlib.metadata import version as installed_version
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import plotly
import plotly.graph_objects as go
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
GENERATED = DOCS / "generated"
PACKAGE = "rashomon_explorer"
ROOMS = {
    "": "Top level",
    "estimators": "Estimators for scikit-learn's pipelines",
    "data": "Tables, schemas and data sets",
    "privacy": "Guarantees, composition and the ledger",
    "mechanisms": "Plans and mechanisms",
    "sets": "Sets of models",
    "trees": "Counted sparse trees",
    "networks": "Differentiable models",
    "audits": "Audits of fitted models",
    "measures": "Measures of a set",
    "measures.multiplicity": "Multiplicity",
    "measures.ranges": "Exact ranges",
    "measures.importance": "Importance",
    "measures.reliance": "Reliance",
    "measures.fairness": "Fairness",
    "measures.decomposition": "Decomposition",
    "plots": "Figures",
    "release": "Aggregates with noise",
    "report": "Reports",
    "rows": "Rows in chunks",
    "exceptions": "Errors and warnings",
}

project = "Rashomon Explorer"
author = "the Rashomon Explorer developers"
version = release = installed_version("rashomon-explorer")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "templates", "generated/gallery/*.ipynb", "generated/gallery/*.py"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["templates"]
html_title = project
html_favicon = "static/favicon.svg"
html_theme = "pydata_sphinx_theme"
html_theme_options: dict[str, Any] = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
}
# Of a published site, whose folders are versions and whose list `.ci/versions` writes.
ADDRESS = os.environ.get("DOCS_ADDRESS", "")
if ADDRESS:
    html_theme_options |= {
        "navbar_end": ["version-switcher", "theme-switcher"],
        "header_links_before_dropdown": 4,
        "check_switcher": False,
        "show_version_warning_banner": True,
        "switcher": {
            "json_url": f"{ADDRESS}/versions.json",
            "version_match": os.environ["DOCS_VERSION"],
        },
    }
html_css_files = ["site.css"]
html_sidebars = {"changelog": [], "get-started": []}
html_static_path = ["static", "generated/static"]
html_extra_path = ["generated/extra"]  # reports, which are pages of their own
html_js_files = ["plotly.min.js"]  # once for the whole site, from the installed plotly
html_copy_source = False

myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc sections have the types
numpydoc_show_class_members = False
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]

sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": str(GENERATED / "gallery"),
    "capture_repr": ("_repr_html_", "__repr__"),
    "image_scrapers": (),
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "show_memory": False,
    "remove_config_comments": True,
    "reset_modules": (),  # resets matplotlib, which is not installed
}


def _plotly_once(figure: go.Figure) -> str:
    """HTML of a figure that uses the site's own copy of plotly."""
    return str(figure.to_html(full_html=False, include_plotlyjs=False))


def exported(module: ModuleType) -> set[str]:
    """Names that a module exports: listed, or the classes that it defines."""
    classes = {name for name, kind in vars(module).items() if isinstance(kind, type)}
    own = {name for name in classes if getattr(module, name).__module__ == module.__name__}
    return set(getattr(module, "__all__", own))


def statements(page: Path) -> list[str]:
    """Python statements that a page or a script of the gallery executes."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        return [one.source.strip() for one in doctest.DocTestParser().get_examples(text)]
    return [str(ast.get_source_segment(text, node)) for node in ast.parse(text).body[1:]]


def _call(function: Callable[..., object], inner: str = "", result: str = "") -> str:
    """Python call of a function by the names of its required arguments."""
    parameters = inspect.signature(function).parameters.values()
    names = [one.name for one in parameters if one.default is one.empty and one.kind != 4]
    written = ", ".join(inner if name == result else name for name in names)
    return f"{function.__name__}({written})"


def figure_line(spec: Any) -> str:
    """Python line that plots a figure of the registry."""
    inner = _call(spec.measure) if spec.measure else ""
    return _call(spec.code) if spec.code else _call(spec.plot, inner, spec.result)


def uses() -> dict[str, list[tuple[str, str]]]:
    """Page and shortest statement of each use of an exported name, by the name."""
    scripts = {f"/generated/gallery/{path.stem}": path for path in EXAMPLES.glob("plot_*.py")}
    pages = {f"/{path.stem}": path for path in DOCS.glob("*.md")}
    used: dict[str, dict[str, str]] = {}
    for address, path in sorted({**pages, **scripts}.items()):
        imported: set[str] = set()
        for statement in statements(path):
            tree = ast.parse(statement)
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module:
                    ours = node.module.startswith(PACKAGE)
                    imported |= {alias.name for alias in node.names} if ours else set()
                named = isinstance(node, ast.Name) and node.id in imported and node.id
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    named = node.value.id in imported and node.attr
                if named and len(statement) < len(
                    used.setdefault(named, {}).get(address, 200 * " ")
                ):
                    used[named][address] = statement
    shortest = {
        name: sorted(of.items(), key=lambda use: len(use[1]))[:2] for name, of in used.items()
    }
    for spec in import_module(f"{PACKAGE}.plots.figures").FIGURES.values():
        shortest.setdefault(spec.plot.__name__, [("/report", figure_line(spec))])
    for address, path in sorted(pages.items(), key=lambda page: page[0] != "/errors"):  # explained
        for name in re.findall(r"`(?:\w+\.)*(\w+)[`(]", path.read_text(encoding="utf-8")):
            shortest.setdefault(name, [])
            if not any(code for _, code in shortest[name]) and len(shortest[name]) < 2:
                shortest[name] = [*dict.fromkeys([*shortest[name], (address, "")])]
    return {name: use for name, use in shortest.items() if use}


def sources() -> dict[str, list[str]]:
    """List the exported functions and methods that return an instance of each class."""
    returned: dict[str, list[str]] = {}
    door = exported(import_module(PACKAGE))
    for room in ROOMS:
        module = import_module(".".join([PACKAGE, *([room] if room else [])]))
        for name in sorted(exported(module) - (door if room else set())):
            value = getattr(module, name)
            members = vars(value) if isinstance(value, type) else {"": value}
            for member, function in members.items():
                result = str(getattr(function, "__annotations__", {}).get("return", ""))
                for kind in re.findall(r"\w+", result) if not member.startswith("_") else ():
                    path = ".".join(part for part in (PACKAGE, room, name, member) if part)
                    if kind[0].isupper() and kind != name:
                        returned.setdefault(kind, []).append(path)
    return returned


autosummary_context = {"uses": uses(), "sources": sources()}


def _plain(text: str) -> str:
    """Text of a definition as reStructuredText."""
    return re.sub(r"</?b>", "**", text).replace("|", r"\|")


def registries() -> dict[str, str]:
    """Definitions of what two registries hold, by the room of their reference page."""
    figures, measures = "", ""
    for spec in import_module(f"{PACKAGE}.plots.figures").FIGURES.values():
        view = "curator and release" if "release" in spec.audience else "curator"
        figures += (
            f"{spec.title} ({view})\n   ``{figure_line(spec)}``\n\n   {_plain(spec.definition)}\n\n"
        )
    for name, one in import_module(f"{PACKAGE}.measures.multiplicity").MEASURES.items():
        source = f"{_plain(one.meaning)} ({_plain(one.source)})"
        measures += f"``{name}``\n   {source}\n\n   ``{one.formula}``\n\n"
    return {
        "plots": f"\nAll figures\n-----------\n\n{figures}",
        "measures.multiplicity": f"\nAll measures\n------------\n\n{measures}",
    }


def write_reference() -> None:
    """One page a room with a table of its exported names."""
    tables = registries()
    folder = GENERATED / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    door = set(import_module("rashomon_explorer").__all__)
    for room, title in ROOMS.items():
        module = ".".join(["rashomon_explorer", *([room] if room else [])])
        names = exported(import_module(module))
        if room:  # each name has one page
            names -= door
        listed = "\n".join(f"   {name}" for name in sorted(names, key=str.lower))
        page = (
            f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: {module}\n\n"
            f".. autosummary::\n   :toctree: names\n\n{listed}\n" + tables.get(room, "")
        )
        (folder / f"{room or 'door'}.rst").write_text(page, encoding="utf-8")


def write_reports() -> None:
    """Run the scripts that write reports, readable by a web server, into the site."""
    folder = GENERATED / "extra" / "reports"
    folder.mkdir(parents=True, exist_ok=True)
    with chdir(folder):
        for script in sorted((EXAMPLES / "reports").glob("*.py")):
            runpy.run_path(str(script))
    for report in folder.iterdir():
        report.chmod(0o644)


def colour_examples(app: Sphinx, page: str, source: list[str]) -> None:
    """Mark indented examples as Python sessions, which Markdown cannot."""

    def fenced(block: re.Match[str]) -> str:
        return f"\n\n```pycon\n{dedent(block[1]).strip()}\n```\n"

    source[0] = re.sub(r"\n\n((?: {4}>>> .*)(?:\n+ {4}.*)*)\n", fenced, source[0])


def link_outside(app: Sphinx, page: str, source: list[str]) -> None:
    """Link what the site has of the repository's other files, and name the rest."""
    above = "../" * page.count("/")
    for pattern, link in (
        (
            r"\[([^\]]+)\]\((?:\.\./)+examples/reports/(\w+)\.py\)",
            rf'<a href="{above}reports/\2.html">\1</a>',
        ),
        (r"\((?:\.\./)+examples/README\.rst\)", f"({above}generated/gallery/index.rst)"),
        (r"\((?:\.\./)+examples/(plot_\w+)\.py\)", rf"({above}generated/gallery/\1.rst)"),
        (r"\[([^\]]+)\]\((?:\.\./)+(?!docs/)([\w./-]+)(?:#[\w-]+)?\)", r"\1 (`\2`)"),
    ):
        source[0] = re.sub(pattern, link, source[0])


class _Page(HTMLParser):
    """Addresses that a page links, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.linked: set[str] = set()
        self.anchors: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src"):
                self.linked.add(value or "")
            elif name in ("id", "name"):
                self.anchors.add(value or "")


def check_links(app: Sphinx, error: Exception | None) -> None:
    """Fail if a link within the site leads nowhere, or one outside is no address."""
    read = cache(_Page)
    broken = []
    pages = () if error else sorted(Path(app.outdir).rglob("*.html"))
    for path in (one for one in pages if "_static" not in one.parts):
        for address in sorted(read(path).linked):
            there = urlsplit(address)
            if there.scheme or there.netloc:
                known = there.scheme in ("data", "mailto") or re.fullmatch(
                    r"[\w-]+(\.[\w-]+)+", there.netloc
                )
                found = bool(known)
            else:
                target = (path.parent / unquote(there.path)).resolve() if there.path else path
                # A name of two rooms has one listing of its source, whose link back names one.
                exact = there.fragment and "_modules" not in path.parts
                page = target.suffix == ".html" and exact
                found = target.is_file() and (
                    not page or unquote(there.fragment) in read(target).anchors
                )
            if not found:
                broken.append(f"{path.relative_to(app.outdir)}: {address}")
    if broken:
        raise ExtensionError("links lead nowhere:\n" + "\n".join(broken))


def as_sphinx_reads(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Escape absolute values; show formulas, and links into scikit-learn's manual, as text."""
    example = False
    for at, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            plain = re.sub(r":(?:ref|term):`(?:([^`<]+?)\s*<[^`]*>|([^`]+))`", r"\1\2", line)
            plain = re.sub(r":math:`([^`]*)`", r"``\1``", plain)
            linked = re.sub(r"\bdocs/([\w/-]+)\.md", r":doc:`/\1`", plain)
            lines[at] = re.sub(r"(?<!\\)\|", r"\|", linked)


def skip_metadata(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    """Leave out scikit-learn's methods that route metadata."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app: Sphinx) -> None:
    """Register what is generated at the start of a build."""
    static = GENERATED / "static"
    static.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(plotly.__file__).parent / "package_data" / "plotly.min.js", static)
    go.Figure._repr_html_ = _plotly_once
    write_reports()
    write_reference()  # before Sphinx lists its pages
    app.connect("source-read", link_outside)
    app.connect("source-read", colour_examples)
    app.connect("autodoc-skip-member", skip_metadata)
    app.connect("autodoc-process-docstring", as_sphinx_reads, priority=900)
    app.connect("build-finished", check_links)
