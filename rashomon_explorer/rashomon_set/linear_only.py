"""What only sets of linear models have, and why others do not."""

LINEAR_ONLY = {
    # Reached when the property of this name refuses.
    "coef": "only linear models of one shape, not in pipelines, have common coefficients",
    "plan": "only models that were drawn here privately have a plan",
    "beta": "only models that were drawn here have an inverse temperature",
    "minimum": "only a linear set has a certified minimum",
    "best": "only a linear set has a certified best model (see best_scores)",
    "parameter_names": "only a linear set has named parameters",
    "feature_names": "only a linear set has named features",
    "link": "only a linear set has a link",
    "margins": "only a linear set has linear scores",
    "row_norm": "only a linear set shortens rows",
    "clipped_share": "only a linear set shortens rows",
    "acceptance": "only models that were drawn here were accepted or not",
    "to_arviz": "only models that were drawn here come from chains",
}
