"""Settings of the documentation site, which `make docs` builds without a network."""

import re
import runpy
import shutil
from contextlib import chdir
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from importlib.metadata import version as installed_version
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from urllib.parse import unquote, urlsplit

import plotly
import plotly.graph_objects as go
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
GENERATED = DOCS / "generated"
ROOMS = {
    "": "Top level",
    "estimators": "Estimators for scikit-learn's pipelines",
    "data": "Tables, schemas and data sets",
    "privacy": "Guarantees, composition and the ledger",
    "mechanisms": "Plans and mechanisms",
    "sets": "Sets of models",
    "trees": "Counted sparse trees",
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
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "templates", "generated/gallery/*.ipynb", "generated/gallery/*.py"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["templates"]
html_title = project
html_theme = "pydata_sphinx_theme"
html_theme_options = {"navigation_with_keys": False, "show_toc_level": 2}
html_static_path = ["generated/static"]
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


def write_reference() -> None:
    """One page a room with a table of its exported names."""
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
            f".. autosummary::\n   :toctree: names\n\n{listed}\n"
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
                page = target.suffix == ".html" and there.fragment
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
