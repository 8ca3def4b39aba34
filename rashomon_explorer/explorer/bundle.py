"""Exported bundle, as a ZIP file."""

import io
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from rashomon_explorer import plots
from rashomon_explorer._utils.formatting import left_text
from rashomon_explorer.data import TableSchema
from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.explorer import family, html, score
from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.paid import PaidModel
from rashomon_explorer.explorer.release import Contents
from rashomon_explorer.measures.multiplicity.table import TERMS
from rashomon_explorer.networks.models import Additive
from rashomon_explorer.networks.sets import AnyRelease, ReleasedNetworks
from rashomon_explorer.plots.budget import attack_in_words
from rashomon_explorer.plots.text import cost_text, number, plural
from rashomon_explorer.plots.theme import templates
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.report import release_report
from rashomon_explorer.sets import ReleasedSet, ReleasedTrees

File = str | bytes
_TEXTS = (Path(__file__).parent / "bundle_files.txt").read_text(encoding="utf-8")
_TREES, _LINEAR, _NETWORKS, _FILES = _TEXTS.strip().split("\n\n")


def _readable_trees(contents: Contents) -> ReleasedTrees:
    return family.with_readable_names(contents.trees, contents.schema)


def _tree_files(contents: Contents) -> Iterator[tuple[str, File]]:
    models, readable = contents.trees, _readable_trees(contents)
    values = {
        "format": "rashomon-explorer trees",
        "version": 1,
        "columns": list(models.models.feature_names),
        "classes": list(models.classes),
        "psi": models.psi,
        "chosen": list(models.steps),
        "trees": models.to_treefarms(),
    }
    yield "trees.json", _json(values)
    texts = (f"tree {k}\n{readable.text(k)}" for k in range(readable.n_draws))
    yield "trees.txt", "\n\n".join(texts) + "\n"
    yield "trees.npz", _npz(models)


def _npz(models: AnyRelease) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "models.npz"
        models.save(path)
        return path.read_bytes()


def _code() -> str:
    return Path(str(score.__file__)).read_text(encoding="utf-8")


_PICTURES = ", and as pictures: PNG for slides, SVG for papers"


def readme(contents: Contents, *, pictures: bool = False) -> str:
    models, listed = contents.models, _TREES if contents.has_trees else _LINEAR
    within = (
        f"Each was drawn so that its loss is likely to be within ψ = {number(models.psi)} of the "
        "least loss; which draws are within ψ is private."
    )
    if isinstance(models, ReleasedNetworks):
        listed, within = _NETWORKS, "No closeness to the least loss is promised."
    files = _FILES.format(pictures=_PICTURES if pictures else "")
    kind, noun = ("Sparse trees", "tree") if contents.has_trees else ("Models", "model")
    rows = "" if contents.n_rows is None else f" of {plural(contents.n_rows, 'row')}"
    steps = f" Chosen: {'; '.join(models.steps)}." if models.steps else ""
    parts = [
        f"{kind} of the Rashomon set of {contents.table}, released with differential privacy",
        f"{plural(models.n_draws, noun)}{rows}. {within}{steps}",
        f"Total privacy cost of these files by themselves: "
        f"{cost_text(contents.total, contents.delta)}.{_standing(contents)} For the models "
        f"without the aggregates, this means: {attack_in_words(models.guarantee)}.",
        _receipt(contents),
        "Any use of these files is allowed: results computed from them and from public rows cost "
        "no further privacy. Do not publish other numbers computed from the private rows, such "
        "as which of the models lie within the set.",
        "Files (aggregates that were not released are absent):\n\n" + f"{listed}\n{files}",
    ]
    return "\n\n".join(parts) + "\n"


def _standing(contents: Contents) -> str:
    """Describe the ledger after all charges; the total of these files is another number."""
    account = contents.account
    if account is None or not account.exists:
        return ""
    return (
        f" The ledger of the table stands at {cost_text(account.spent)} with all its charges; the "
        "receipt lists what each part added to it, less than its own ε where charges of the same "
        "rows came before."
    )


def _receipt(contents: Contents) -> str:
    own_epsilon = contents.models.guarantee.epsilon(contents.delta)
    charged = own_epsilon if contents.charged is None else contents.charged
    lines = [f"Models: {cost_text(charged)}."]
    lines += [
        f"Aggregates: {purchase.what} · {cost_text(purchase.adds)} · {purchase.at:%d %b %Y}"
        for purchase in contents.purchases
    ]
    account = contents.account
    if account is not None and account.exists:
        lines.append(f"Remaining budget: ε = {left_text(account.left)}.")
    return "Receipt\n" + "\n".join(f"  {line}" for line in lines)


_SCRIPT = "figures/plotly.min.js"
_BUNDLE_PICTURES = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<svg"}
"""First bytes of each kind of picture file."""

_LEAVES = ("release", "plan")
"""Views of figures that may be released: released results and public numbers."""

_WHEN = (2000, 1, 1, 0, 0, 0)  # constant, so that equal contents give equal bytes


def bundle(contents: Contents, pictures: Mapping[str, bytes] = MappingProxyType({})) -> bytes:
    return _zipped(_files(contents, pictures))


def _zipped(files: Iterable[tuple[str, File]]) -> bytes:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            info = zipfile.ZipInfo(name, _WHEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return into.getvalue()


def _files(contents: Contents, pictures: Mapping[str, bytes]) -> Iterator[tuple[str, File]]:
    charts = figures(contents)
    drawn = {name: content for name, content in pictures.items() if _is_one(name, content, charts)}
    yield "README.txt", readme(contents, pictures=bool(drawn))
    if contents.has_trees:
        yield from _tree_files(contents)
    else:
        if isinstance(contents.models, ReleasedSet):
            yield "models.json", _models_json(contents.linear)
        yield "models.npz", _npz(contents.models)
    if not isinstance(contents.models, ReleasedNetworks):
        yield "score.py", _code()
    if contents.schema is not None:
        yield "schema.toml", contents.schema.to_toml()
    together = {"epsilon": contents.total, "delta": contents.delta}
    released = [purchase.released for purchase in contents.purchases]
    bought = [each.guarantee.to_dict() for each in released]
    models = contents.models.guarantee.to_dict()
    yield "guarantee.json", _json({"models": models, "aggregates": bought, "together": together})
    if released:
        yield "aggregates.json", _json([each.to_dict() for each in released])
    numbers = {name: vars(entry) for name, entry in html.DEFINITIONS.items()}
    aggregates = {answer.query: answer.definition for each in released for answer in each.answers}
    yield "definitions.json", _json({"terms": TERMS, "numbers": numbers, "aggregates": aggregates})
    if contents.account is not None and contents.account.exists:
        yield "ledger.json", _ledger(contents.account)
    yield "report.html", release_page(contents)
    yield _SCRIPT, get_plotlyjs()
    for name, figure in charts.items():
        # Without an id, plotly would give the element a random one.
        written: str = in_light(figure).to_html(
            include_plotlyjs="directory", full_html=True, div_id=name
        )
        yield f"figures/{name}.html", written
        yield f"figures/{name}.json", figure.to_json()
    for name, content in sorted(drawn.items()):
        yield f"figures/{name}", content


def _is_one(name: str, content: bytes, charts: Mapping[str, go.Figure]) -> bool:
    figure, _, kind = name.rpartition(".")
    return (
        figure in charts and kind in _BUNDLE_PICTURES and content.startswith(_BUNDLE_PICTURES[kind])
    )


def figures(contents: Contents) -> dict[str, go.Figure]:
    models = contents.models
    if isinstance(models, ReleasedSet):
        charts = {"coefficients": plots.plot_coefficient_spread(models)}
        if models.as_drawn and models.plan.has_gibbs_law:
            charts["promise"] = plots.plot_guarantee(models.plan)
    elif isinstance(models, ReleasedNetworks):
        additive = isinstance(models.models.model, Additive)
        charts = {"shapes": plots.plot_shapes(models)} if additive else {}
    else:
        trees = _readable_trees(contents)
        charts = {"trees": plots.plot_trees(trees), "rules": plots.plot_rules(trees)}
        charts["questions"] = plots.plot_tree_use(trees)
    charts["one_record"] = plots.plot_tradeoff(contents.models.guarantee, "these models")
    for count, purchase in enumerate(contents.purchases, 1):
        charts[f"aggregates_{count}"] = plots.plot_released(purchase.released)
    for name, figure in charts.items():
        if (figure.layout.meta or {}).get("view") not in _LEAVES:
            raise CuratorOnlyError(f"the figure {name} reads private rows and cannot be exported")
    return charts


def in_light(figure: go.Figure) -> go.Figure:
    return go.Figure(figure).update_layout(
        template=templates()["light"], paper_bgcolor="white", plot_bgcolor="white"
    )


def _json(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, indent=1, default=str)


def _models_json(models: ReleasedSet) -> str:
    each = models.coef.reshape(models.n_draws, models.outputs, -1)
    scaling, scale = {}, models.scale
    if scale is not None:  # columns are scaled before scoring
        scaling = {"centres": scale.centre.tolist(), "spreads": scale.spread.tolist()}
    return _json(
        {
            "format": "rashomon-explorer models",
            "version": 1 if models.scale is None else 2,
            "columns": list(models.feature_names[:-1]),
            "link": models.link,
            "row_norm": models.row_norm,
            "target_bounds": list(models.target_bounds),
            "classes": list(models.classes),
            "psi": models.psi,
            "chosen": list(models.steps),
            "coefficients": each[..., :-1].tolist(),
            "intercepts": each[..., -1].tolist(),
            **scaling,
        }
    )


def _ledger(account: Account) -> str:
    """Charges and totals of the ledger, without names, times and notes."""
    charges = [
        {"charge": charge.id, "notion": charge.mechanism, "state": charge.standing}
        for charge in account.charges
    ]
    totals = {"epsilon": account.budget, "delta": account.delta, "spent": account.spent}
    return _json({**totals, "charges": charges})


def described(table: str, schema: TableSchema | None, author: str) -> dict[str, Any]:
    return {
        "table": table,
        "date": f"{datetime.now():%Y-%m-%d}",
        "author": author,
        "schema": schema,
    }


def release_page(contents: Contents) -> str:
    models, radius = contents.models, None
    if isinstance(models, ReleasedSet) and contents.constants is not None and models.as_drawn:
        radius = models.plan.radius
    account = contents.account
    with tempfile.TemporaryDirectory() as folder:
        path = release_report(
            models,
            Path(folder) / "report.html",
            aggregates=[purchase.released for purchase in contents.purchases],
            **described(contents.table, contents.schema, contents.author),
            constants=None if radius is None else contents.constants,
            domain=None if radius is None else Ball(radius),
            ledger=None if account is None or not account.exists else account.path,
        )
        return path.read_text(encoding="utf-8")


def one_model_bundle(made: PaidModel, table: str, schema: str) -> bytes:
    files = {
        "README.txt": (
            f"One differentially private model of {table}, by {made.mechanism}: {made.why}.\n\n"
            f"Privacy cost: {made.spent}. Guaranteed expected excess loss: {made.excess} on these "
            f"rows and {made.unseen} on new ones.\n\nscore.py predicts with model.json, by numpy "
            "only, on rows encoded as schema.toml declares; guarantee.json is the privacy "
            "guarantee. Computations from these files and from public rows have no further "
            "privacy cost.\n"
        ),
        "model.json": _json(made.model),
        "guarantee.json": _json(made.guarantee.to_dict()),
        "score.py": _code(),
        "schema.toml": schema,
    }
    return _zipped(files.items())
