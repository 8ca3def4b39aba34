"""What is not released, why, and what to ask for instead."""

REFUSED: dict[str, tuple[str, str]] = {
    "hit_rate": (
        "one record can turn whether a draw's excess is at most psi, so that the share can jump by "
        "1 however many rows there are",
        "SoftHits(width=..., radius=...), two soft shares with the hit rate between them, or "
        "Excess(radius=...)",
    ),
    "median_loss": (
        "a median over rows can jump across its whole range when one record is replaced",
        "'mean_loss' or 'losses'",
    ),
    "loss_quantile": (
        "a quantile over rows can jump across its whole range when one record is replaced",
        "the share beyond a level that you declare, such as 'delta_ambiguity' with a tolerance",
    ),
    "largest_row_range": (
        "a largest value over rows is one person's, and one record decides it",
        "'range_width', its mean, or 'delta_ambiguity', the share beyond a tolerance",
    ),
    "viable_prediction_range": (
        "it is one interval for each person, and depends on that person's record alone",
        "'range_width', its mean over rows; or compute it on public or synthetic rows, for nothing",
    ),
    "row_disagreement": (
        "it is one number for each person, and depends on that person's record alone",
        "'disagreement', its mean over rows",
    ),
    "decide_or_abstain": (
        "it is one decision for each person, and depends on that person's record alone",
        "'abstention', the share of rows to abstain from",
    ),
    "cohen_kappa": (
        "its denominator can be 0, next to which one record moves it without bound",
        "'disagreement' and 'discrepancies'",
    ),
    "pattern_count": (
        "one record can tell many draws apart that no other tells apart: the count can double",
        "'disagreement'",
    ),
    "pattern_diversity": (
        "it is a mean over different patterns, and one record can double their number",
        "'disagreement'",
    ),
    "pattern_ratio": (
        "one record can tell many draws apart that no other tells apart: the count can double",
        "'disagreement'",
    ),
    "reliance_ratio": (
        "its denominator is a loss that can be 0, next to which one record moves it without bound",
        "'reliance', the difference e_switch − e_orig",
    ),
    "largest_selection_gap": (
        "over draws it is the largest of differences of ratios whose denominators are not public",
        "GroupGaps(over='each'), a gap for each draw, or GroupGaps(over='mean')",
    ),
    "exact_ranges": (
        "their ends are optima over the set, which moves with every record, by an amount that "
        "grows without bound where the loss is flat",
        "the spread of the draws' coefficients, which is public: coefficient_spread(released)",
    ),
    "exact_ambiguity": (
        "which labels the whole set allows moves with the set, for all rows at once",
        "'ambiguity' over the draws, a lower bound",
    ),
}


def refuse(name: str) -> None:
    """Refuse a query of that name, if it is one that has no useful bound.

    The message says why and what to ask for.

    >>> refuse("ambiguity")
    >>> refuse("median_loss")
    Traceback (most recent call last):
        ...
    ValueError: median_loss is not released: a median over rows can jump ...
    """
    if name in REFUSED:
        why, instead = REFUSED[name]
        raise ValueError(f"{name} is not released: {why}. Ask for {instead}")
