"""What the models rely on: importance of each feature over the draws, and over the whole set."""

from rashomon_explorer.measures import feature_groups, model_class_reliance
from rashomon_explorer.plots import plot_class_reliance, plot_importance
from rashomon_explorer.plots.tables import importance_table
from rashomon_explorer.problem import Problem
from rashomon_explorer.report.blocks import Block, Plot, Table, Words
from rashomon_explorer.report.material import Curator
from rashomon_explorer.report.sections.rows import need_linear, need_linear_or_trees, need_rows

_RELIABLE = ("logistic", "squared")
_MOST_FEATURES = 12
_MOST_ROWS = 5_000


def curator(given: Curator) -> list[Block]:
    """Show importances over the draws; with the problem, how far reliance can go in the set."""
    need_rows(given, targets=True)
    models = need_linear_or_trees(given)
    whose, problem, given = given.whose, given.problem, given.people
    blocks: list[Block] = [
        *([Words(whose)] if whose else []),
        Words(
            "How much the loss of a model of the set grows when a feature is shuffled. It says "
            "what the model relies on, not what causes the target; of correlated features each "
            "may look unimportant because the other stands in for it. The columns of one category "
            "are one feature and are shuffled together."
        ),
        Plot(
            plot_importance(models, given.X, given.y),
            "Range of the permutation importance of every feature over the models within ψ, with "
            "the best model's.",
            Table(importance_table(models, given.X, given.y), "Permutation importance"),
        ),
    ]
    if problem is not None:
        blocks.append(_reliance(given, problem))
    return blocks


def _reliance(given: Curator, problem: Problem) -> Block:
    models = need_linear(given)
    names = models.feature_names[:-1]
    features = feature_groups(None, names, models.feature_groups)
    if problem.loss.name not in _RELIABLE or models.psi <= 0 or not problem.intercept:
        return Words("Model class reliance is known for logistic and squared loss and ψ > 0.")
    if len(features) > _MOST_FEATURES or problem.n > _MOST_ROWS:
        return Words(
            f"Model class reliance was left out of this report for time: it is computed for up to "
            f"{_MOST_FEATURES} features and {_MOST_ROWS:,} rows; see measures.model_class_reliance."
        )
    table = model_class_reliance(
        problem,
        psi=models.psi,
        features={name: columns.tolist() for name, columns in features.items()},
        feature_names=names,
        draws=models.coef,
    )
    return Plot(
        plot_class_reliance(table),
        "Least and greatest reliance on every feature over the whole Rashomon set: what a model "
        "of the set attains, and what none exceeds.",
        Table(table, "Model class reliance"),
    )
