"""Numbers of an audit of counted trees: read off uniform draws, and choices among all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from rashomon_explorer.audits import tolerance as rules
from rashomon_explorer.audits.answers import AuditInputs
from rashomon_explorer.audits.models import AuditedModel
from rashomon_explorer.audits.sampled import SampledSet
from rashomon_explorer.audits.sampled_answers import ModelAnswers
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.sets.models.fitted import FittedModels
from rashomon_explorer.sets.models.trees import Node
from rashomon_explorer.sets.models.written import as_sklearn
from rashomon_explorer.trees import CountedTrees


@dataclass(frozen=True, eq=False)
class CountedAnswers(ModelAnswers):
    """Numbers over uniform draws of counted trees."""

    inputs: AuditInputs
    counted: CountedTrees
    any_psi: ClassVar[bool] = True

    @cached_property
    def models(self) -> SampledSet:  # type: ignore[override]  # drawn on first use
        """Trees that were drawn, as fitted models."""
        counted, psi = self.counted, self.inputs.psi
        seed = int(self.inputs.rng().integers(2**31))
        trees, losses = counted.uniform_trees(self.inputs.n_models, psi, seed)
        estimators = {tree: tree_estimator(counted, tree) for tree in dict.fromkeys(trees)}
        best = tree_estimator(counted, counted.best())
        text = f"good trees lose at most {psi:.4g} more than the best one"
        drawn = SampledSet(
            models=FittedModels(tuple(map(estimators.__getitem__, trees)), counted.classes),
            reference=FittedModels((best,), counted.classes),
            losses=losses,
            least=counted.least,
            psi=psi,
            task="classification",
            classes=counted.classes,
            names=tuple(f"tree {index}" for index in range(len(trees))),
            loss="zero_one",
            independent=True,
            uniform=True,
            kinds=("counted",) * len(trees),
            errors=np.zeros(len(trees)),
            tolerance=rules.Tolerance(psi, "absolute", text),
            n_tried=counted.size(psi),
            measured="on these rows",
            seed=seed,
        )
        classes = self.inputs.model.classes
        return drawn.scoring(classes[-1] if self.inputs.model.reversed else None)


def tree_estimator(counted: CountedTrees, tree: Node) -> Any:
    """Fitted classifier of the table, from a tree on the questions."""
    (on_columns,), names = (trees := counted.on_columns([tree])).trees, trees.feature_names
    model = as_sklearn(on_columns, len(names), counted.classes, names)
    if counted.schema is None:
        return model
    del model.feature_names_in_  # its columns are encoded
    return make_pipeline(FunctionTransformer(UnitEncoder(counted.schema).transform), model)


def audited_trees(
    counted: CountedTrees, table: Any, y: Any, tolerance: Any, wanted: Any
) -> tuple[AuditedModel, rules.Tolerance]:
    """Best tree as the audited model, and the threshold that a rule gives."""
    best = tree_estimator(counted, counted.best())
    audited = AuditedModel.from_fit(best, table, y, wanted=wanted).scoring_wanted()
    wrong = np.asarray(best.predict(audited.fit_rows)) != audited.targets
    errors = counted.errors(counted.best()) if counted.rows.costs is None else wrong.sum()
    if len(wrong) != counted.n or errors != wrong.sum():
        raise ValueError(
            f"X and y must be the {counted.n:,} rows whose trees were counted: the best tree is "
            f"wrong on {int(wrong.sum()):,} of {len(wrong):,} rows, expected {int(errors):,}"
        )
    return audited, rules.resolve_losses(tolerance, wrong.astype(float), than="the best tree")
