"""The bundle's README: what is in it, what it cost, and what may be done with it."""

from rashomon_explorer.explorer.basket.contents import Contents
from rashomon_explorer.explorer.basket.tree_files import LISTED
from rashomon_explorer.plots.text import number, plural, price, what_is_left
from rashomon_explorer.plots.tradeoff import attack_in_words

_LINEAR = """
models.json       the models as plain numbers; score.py predicts with them, by numpy alone
models.npz        the same for Python: ReleasedSet.load("models.npz") of rashomon_explorer
score.py          read it: thirty lines
schema.toml       what is public of the table, and how a row becomes what the models take
""".strip()
_FILES = """
guarantee.json    what is proved that all of this tells about one record, and under what assumptions
aggregates.json   the numbers of the rows that were paid for, with their error bars
definitions.json  every number's definition
ledger.json       what of the table's privacy budget was spent
report.html       all of it to read, in one page that opens anywhere
figures/          the figures, each as a page of its own and as JSON{pictures}
""".strip()
_PICTURES = ", and as a picture: PNG for a slide, SVG for a paper"


def readme(given: Contents, *, pictures: bool = False) -> str:
    """Write it; with ``pictures`` figures are there as PNG and SVG too."""
    models, listed = given.models, LISTED if given.of_trees else _LINEAR
    files = _FILES.format(pictures=_PICTURES if pictures else "")
    kind = "Sparse trees" if given.of_trees else "Models"
    parts = [
        f"{kind} of the Rashomon set of {given.table}, released with differential privacy",
        _what(given),
        f"Price of all of it together: {price(given.total, given.delta)}. That is: "
        f"{attack_in_words(models.guarantee)}, as far as the models alone are concerned.",
        _receipt(given),
        "What you may do: anything. Whatever is computed from these files and from public rows "
        "costs nothing more. What may not leave with them are numbers computed from the private "
        "rows that are not in here, such as which of the models lie inside the set.",
        "In here (what was not bought is left out):\n\n" + f"{listed}\n{files}",
    ]
    return "\n\n".join(parts) + "\n"


def _what(given: Contents) -> str:
    models, noun = given.models, "tree" if given.of_trees else "model"
    rows = "" if given.n_rows is None else f" of {plural(given.n_rows, 'row')}"
    chosen = f" Chosen: {'; '.join(models.steps)}." if models.steps else ""
    return (
        f"{plural(models.n_draws, noun)}{rows}. Each was drawn so "
        f"that it is likely to be almost as good as the best one, within ψ = {number(models.psi)} "
        f"of its loss; which of them are is not told, because that would read the rows.{chosen}"
    )


def _receipt(given: Contents) -> str:
    lines = [f"Models: {price(given.models_price)} by themselves."]
    lines += [
        f"Aggregates: {one.what} · added {price(one.adds)} · {one.at:%d %b %Y}"
        for one in given.purchases
    ]
    account = given.account
    if account is not None and account.exists:
        lines.append(f"Left of the budget: ε = {what_is_left(account.left)}.")
    return "Receipt\n" + "\n".join(f"  {line}" for line in lines)
