"""The report file: head, table of contents, sections, omitted sections and reasons."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any

from markupsafe import Markup
from numpy.typing import ArrayLike
from plotly.offline import get_plotlyjs

from rashomon_explorer._utils.files import replace_file
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.data.schema import TableSchema
from rashomon_explorer.measures.inputs import fitted_set
from rashomon_explorer.networks.sets import AnyRelease
from rashomon_explorer.plots.theme import templates
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.release import ReleasedAggregates
from rashomon_explorer.report import blocks
from rashomon_explorer.report.material import Bounds, curator_material, release_material
from rashomon_explorer.report.sections import CURATOR, RELEASE
from rashomon_explorer.report.sections.document import Section, Skip
from rashomon_explorer.sets import PredictorSet, RashomonSet

BADGES = {
    "curator": "Curator: computed from private rows, not private",
    "release": "Released: differentially private",
    "public": "Public: computed without private rows",
    "internal": "Internal: settings, privacy costs and names; not for release",
}
BANNERS = {
    "curator": f"{BADGES['curator']}. Not for release.",
    "release": "Release: private draws, released aggregates and public settings only",
}
_CURATOR_VIEWS = ("curator", "none")


@dataclass(frozen=True)
class Document:
    """Sections of an edition with their material, as one HTML file."""

    title: str
    edition: str
    sections: Sequence[Section]
    material: Any
    # whether a script in the file draws the figures; otherwise there are only tables
    interactive: bool = True

    def save(self, target: Path) -> Path:
        """Write the file; one that is not a release is readable only by its owner."""
        content = self.html().encode()
        mode = 0o644 if self.edition == "release" else 0o600
        replace_file(target, lambda file: file.write(content), mode=mode)
        return target

    def html(self) -> str:
        """Render all sections; those that do not apply are listed with the reason."""
        ids = (f"figure-{k}" for k in count(1)) if self.interactive else None
        rendered: list[tuple[Section, list[Markup]]] = []
        left_out: dict[str, str] = {}
        models = getattr(self.material, "models", None)
        suited = [section for section in self.sections if section.suits(models)]
        for section in progress(suited, "report"):
            try:
                content = list(section.make(self.material))
                content += blocks.registered_figures(self.material, section.key)
            except Skip as error:
                left_out[section.title] = str(error)
            else:
                for block in content:
                    self._check(section, block)
                plotted = {id(b.table) for b in content if isinstance(b, blocks.Plot)}
                if not self.interactive:  # a figure is its table, which is not repeated
                    content = [block for block in content if id(block) not in plotted]
                rendered.append((section, [block.html(ids) for block in content]))
        scripts = [_shipped("report.js")] if self.interactive else []
        return blocks.render_page(
            title=self.title,
            edition=self.edition,
            banner=BANNERS[self.edition],
            badges=BADGES,
            sections=rendered,
            left_out=left_out,
            policy=Markup(_policy([get_plotlyjs(), *scripts] if scripts else [])),
            style=Markup(_shipped("report.css")),
            looks=Markup(blocks.json_for_script(templates())),
            plotly=_packed_plotly() if scripts else "",
            scripts=[Markup(script) for script in scripts],
        )

    def _check(self, section: Section, block: blocks.Block) -> None:
        """Refuse curator figures in a release, and unmarked figures in a curator's report."""
        view = getattr(block, "view", None) if isinstance(block, blocks.Plot) else None
        private = view in _CURATOR_VIEWS or section.view in ("curator", "internal")
        if self.edition == "release" and private:
            raise AssertionError(f"{section.key} shows a curator figure in a release")
        if section.view == "curator" and view not in (None, *_CURATOR_VIEWS):
            raise AssertionError(f"a figure of {section.key} has no curator band")


def _policy(scripts: Sequence[str]) -> str:
    """Content security policy: no external source, and only the file's scripts, by hash."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()) for script in scripts]
    allowed = " ".join(f"'sha256-{digest.decode()}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def _packed_plotly() -> str:
    """Return the Plotly script packed for `report.js`: 2 MB instead of 5."""
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()


@cache
def _shipped(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def refuse_existing(path: str | PathLike[str], overwrite: bool) -> Path:
    """Check the path before the computation starts, and return it."""
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"{target} already exists: choose another name or pass overwrite=True"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent} is not a folder: create it first")
    return target


def _title(table: str) -> str:
    return f"Rashomon set of {table}: " if table else "Rashomon set: "


def report(
    models: RashomonSet | PredictorSet | AnyRelease,
    path: str | PathLike[str],
    *rows: Any,
    **options: Any,
) -> Path:
    """Write the report that fits the models: for the curator, or for release.

    Parameters
    ----------
    models : RashomonSet, PredictorSet, a release of one, or fitted Rashomon estimator
    path : path-like
        Usually ``"card.html"``.
    *rows, **options
        Arguments of :func:`curator_report`, ``X`` and ``y`` first; for a release, those of
        :func:`release_report`, which has no argument for rows.

    Returns
    -------
    pathlib.Path
        Path of the file.

    Raises
    ------
    TypeError
        If a release is given with rows or with other options of the curator's report.

    Examples
    --------
    >>> import tempfile
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0).fit(X, y).rashomon_set_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     curators = report(models, folder + "/card.html", X, y, interactive=False)
    ...     public = report(models.release(), folder + "/release.html", interactive=False)
    >>> curators.name, public.name
    ('card.html', 'release.html')
    """
    released = fitted_set(models)
    if isinstance(released, AnyRelease):
        return release_report(released, path, *rows, **options)
    return curator_report(models, path, *rows, **options)  # type: ignore[arg-type]


def curator_report(
    models: RashomonSet | PredictorSet,
    path: str | PathLike[str],
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    groups: ArrayLike | str | None = None,
    problem: Problem | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    schema: TableSchema | None = None,
    bounds: Bounds | None = None,
    target: str = "",
    title: str = "",
    date: str = "",
    table: str = "",
    author: str = "",
    classes: Sequence[str] | None = None,
    interactive: bool = True,
    overwrite: bool = False,
) -> Path:
    """Write all figures and measures of a set into one HTML file for the curator.

    **Curator: computed from private rows, not private.** The file states this on every page,
    section and figure, and only its owner can read it. It loads nothing from a network. Each
    figure has a table of its numbers. Sections with missing input are listed with the reason.

    Parameters
    ----------
    models : RashomonSet, PredictorSet or fitted Rashomon estimator
        The models; no type holds rows.
    path : path-like
        Usually ``"card.html"``.
    X : array-like or DataFrame of shape (n_rows, n_features), or chunked rows, optional
        The table that the estimator took. Omit it for stored predictions. With chunked rows, all
        numbers use all rows, except in the sections on people and on importance: these use a fixed
        random sample, and state it.
    y : array-like of shape (n_rows,), optional
        Targets as given to the estimator; chunked rows include their targets.
    groups : array-like or Series of shape (n_rows,), or str, optional
        Sensitive attribute; a Series also gives its name. For chunked rows, a column name.
    problem : Problem, optional
        Problem of the draws, from :func:`rashomon_explorer.measures.declared_problem`. Adds exact
        ranges and model class reliance.
    ledger : Ledger or path-like, optional
        Ledger whose charges are listed.
    schema : TableSchema, optional
        Public schema of the table: it states the target, its classes, bounds, and the units of
        columns and coefficients.
    bounds : mapping of str to (float, float) or str, optional
        Declared range of each feature, or its declaration in words.
    target : str, optional
        Description of the quantity that is predicted.
    title, date, table, author : str, optional
        Printed title, date, name of the data set and author. Without a date, equal inputs give
        equal bytes.
    classes : sequence of str, optional
        Names of the classes, if the models predict the codes 0, 1, ….
    interactive : bool, default=True
        Whether the file contains the script that draws its figures, 2 MB. Otherwise there is no
        script, and the numbers are in tables.
    overwrite : bool, default=False
        Whether an existing file may be replaced.

    Returns
    -------
    pathlib.Path
        Path of the file.

    Raises
    ------
    FileExistsError
        If the file exists and ``overwrite`` is False.
    TypeError
        If ``models`` is a release.
    ValueError
        If lengths differ, the rows do not fit the models, or ``problem`` is not that of the draws.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     curator_report(models, f"{folder}/card.html", X, y, interactive=False).name
    'card.html'
    """
    target_path = refuse_existing(path, overwrite)
    public: dict[str, Any] = {"ledger": ledger, "schema": schema, "bounds": bounds}
    public |= {"target": target, "title": title, "date": date}
    public |= {"table": table, "author": author, "classes": classes}
    material = curator_material(models, X, y, groups, problem, **public)
    models = material.models
    if X is not None and models.n_draws:
        models.scores(material.rows(0, 1))  # fails at once for rows of another shape
    title = title or f"{_title(table)}{models.n_draws:,} models, curator’s edition"
    return Document(title, "curator", CURATOR, material, interactive).save(target_path)


def release_report(
    models: AnyRelease,
    path: str | PathLike[str],
    *,
    aggregates: Sequence[ReleasedAggregates] = (),
    constants: Constants | None = None,
    domain: Domain | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    schema: TableSchema | None = None,
    bounds: Bounds | None = None,
    target: str = "",
    title: str = "",
    date: str = "",
    table: str = "",
    author: str = "",
    classes: Sequence[str] | None = None,
    interactive: bool = True,
    overwrite: bool = False,
) -> Path:
    """Write a release into one HTML file.

    The file depends only on the arguments of this function: released draws with their guarantee
    and public plan, aggregates with guarantees of their own, and public settings. None of them
    holds an exact loss or a row, so the file is post-processing of private releases (Dwork and Roth
    2014, Proposition 2.1). Two sets that differ only in their losses, best model, clipped share
    or acceptance rate give the same bytes. The caller must ensure that the title, the names
    and ``bounds`` are public.

    Parameters
    ----------
    models : ReleasedSet, ReleasedTrees or ReleasedNetworks
        For trees, the file shows their rules and how many trees ask each question; for networks,
        the released losses.
    path : path-like
    aggregates : sequence of Released, optional
        Results of :func:`rashomon_explorer.release.release`.
    constants : Constants, optional
        Public constants of the problem, from ``constants(n, d)`` of an estimator, for the
        bounds on new rows; linear models only.
    domain : Domain, optional
        Set of models to which the constants apply.
    ledger : Ledger or path-like, optional
        Number, notion and total of each charge are listed; names, times and remarks are not.
    schema, bounds, target, title, date, table, author, classes, interactive, overwrite
        As in :func:`curator_report`.

    Returns
    -------
    pathlib.Path
        Where it is.

    Raises
    ------
    FileExistsError
        If there is a file and ``overwrite`` is False.
    TypeError
        If ``models`` is not a release, or an aggregate is not a `ReleasedAggregates`.
    CuratorOnlyError
        If an aggregate's guarantee does not hold.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release_report(models.release(), f"{folder}/card.html", interactive=False).name
    'card.html'
    """
    target_path = refuse_existing(path, overwrite)
    public: dict[str, Any] = {"ledger": ledger, "schema": schema, "bounds": bounds}
    public |= {"target": target, "title": title, "date": date}
    public |= {"table": table, "author": author, "classes": classes}
    material = release_material(models, aggregates, constants=constants, domain=domain, **public)
    title = title or f"{_title(table)}{models.n_draws:,} released models"
    return Document(title, "release", RELEASE, material, interactive).save(target_path)
