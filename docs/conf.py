"""Settings of the documentation site, which `make docs` builds without a network."""

import re
import shutil
from importlib import import_module
from importlib.metadata import version as installed_version
from pathlib import Path

import plotly
import plotly.graph_objects as go
from sphinx.application import Sphinx

DOCS = Path(__file__).parent
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
}

project = "Rashomon Explorer"
author = "the Rashomon Explorer developers"
version = release = installed_version("rashomon-explorer")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
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
html_js_files = ["plotly.min.js"]  # once for the whole site, from the installed plotly
html_copy_source = False
mathjax_path = "mathjax.js"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc sections have the types
numpydoc_show_class_members = False
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]

sphinx_gallery_conf = {
    "examples_dirs": str(DOCS.parent / "examples"),
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


def write_reference() -> None:
    """One page a room with a table of its exported names."""
    folder = GENERATED / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    door = set(import_module("rashomon_explorer").__all__)
    for room, title in ROOMS.items():
        module = ".".join(["rashomon_explorer", *([room] if room else [])])
        names = set(import_module(module).__all__)
        if room:  # each name has one page
            names -= door
        listed = "\n".join(f"   {name}" for name in sorted(names, key=str.lower))
        page = (
            f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: {module}\n\n"
            f".. autosummary::\n   :toctree: names\n\n{listed}\n"
        )
        (folder / f"{room or 'door'}.rst").write_text(page, encoding="utf-8")


def link_outside(app: Sphinx, page: str, source: list[str]) -> None:
    """Name files of the repository that are no pages of the site instead of linking them."""
    source[0] = re.sub(
        r"\[([^\]]+)\]\((?:\.\./)+(?!docs/)([\w./-]+)(?:#[\w-]+)?\)", r"\1 (`\2`)", source[0]
    )


def as_sphinx_reads(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Escape absolute values, and unlink what scikit-learn's docstrings link in its own manual."""
    example = False
    for at, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            plain = re.sub(r":(?:ref|term):`(?:([^`<]+?)\s*<[^`]*>|([^`]+))`", r"\1\2", line)
            linked = re.sub(r"\bdocs/([\w/-]+)\.md", r":doc:`\1 </\1>`", plain)
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
    write_reference()  # before Sphinx lists its pages
    app.connect("source-read", link_outside)
    app.connect("autodoc-skip-member", skip_metadata)
    app.connect("autodoc-process-docstring", as_sphinx_reads, priority=900)
