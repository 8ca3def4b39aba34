"""The library's glossary: every term and measure, with its formula and source."""

from dataclasses import dataclass

from rashomon_explorer.measures.multiplicity.catalogue import MEASURES as CATALOGUE


@dataclass(frozen=True)
class Definition:
    """Description, formula and source of a measure."""

    name: str
    meaning: str
    formula: str
    source: str

    @property
    def sampled(self) -> str:
        """Whether the measure over draws is a lower bound of the set's value or an estimate."""
        return CATALOGUE[self.name].sampled


_MARX = "Marx, Calmon and Ustun, ICML 2020"
_WATSON = "Watson-Daniels, Parkes and Ustun, AAAI 2023"
_SEMENOVA = "Semenova, Chen, Parr and Rudin, NeurIPS 2023"
_COOPER = "Cooper et al., AAAI 2024"
_GANESH = "Ganesh, Thakurta and Upadhyay, COLT 2023, §1.2"

_EVERY = [
    Definition(
        "ambiguity",
        "share of rows that some model labels differently from the best model",
        "(1/n) #{i : ∃f, f(x_i) ≠ f₀(x_i)}",
        _MARX,
    ),
    Definition(
        "discrepancy",
        "most labels that one model changes against the best one",
        "max_f (1/n) #{i : f(x_i) ≠ f₀(x_i)}",
        _MARX,
    ),
    Definition(
        "any_pair_discrepancy",
        "most labels on which any two models differ",
        "max_{f,f'} (1/n) #{i : f(x_i) ≠ f'(x_i)}",
        _MARX,
    ),
    Definition(
        "obscurity",
        "share of labels changed, over rows and models",
        "mean over i and f of [f(x_i) ≠ f₀(x_i)]",
        "Cavus and Biecek 2024",
    ),
    Definition(
        "disagreement",
        "chance that two different models label a row differently",
        "mean over i of 1 − Σ_c m_c(m_c − 1)/(m(m − 1))",
        "unbiased form of Pr[f ≠ f']",
    ),
    Definition(
        "self_consistency",
        "chance that two different models label a row the same",
        "mean over i of Σ_c m_c(m_c − 1)/(m(m − 1))",
        _COOPER,
    ),
    Definition(
        "abstention",
        "share of rows with a self-consistency too low for a decision",
        "(1/n) #{i : self-consistency of i < κ}, κ = 0.75",
        _COOPER,
    ),
    Definition(
        "cohen_kappa",
        "agreement of two models beyond chance, mean over pairs",
        "(a − e)/(1 − e)",
        "Cohen 1960",
    ),
    Definition(
        "pattern_count",
        "number of distinct label vectors on these rows",
        "#{(f(x_1), …, f(x_n))}",
        "Semenova, Rudin and Parr, FAccT 2022",
    ),
    Definition(
        "pattern_diversity",
        "mean Hamming distance between two label vectors",
        "(1/(nΠ²)) Σ_j Σ_k H(p_j, p_k)",
        _SEMENOVA,
    ),
    Definition(
        "delta_ambiguity",
        "share of rows whose score some model moves by the tolerance",
        "(1/n) #{i : ∃f, |s_f − s₀| ≥ tolerance}",
        _WATSON,
    ),
    Definition(
        "delta_discrepancy",
        "most rows whose score one model moves by the tolerance",
        "max_f (1/n) #{i : |s_f − s₀| ≥ tolerance}",
        _WATSON,
    ),
    Definition(
        "delta_obscurity",
        "share of scores moved by the tolerance, over rows and models",
        "mean over i and f of [|s_f − s₀| ≥ tolerance]",
        _WATSON,
    ),
    Definition(
        "range_width",
        "mean width of a row's viable predictions",
        "mean over i of max_f s_f(x_i) − min_f s_f(x_i)",
        _WATSON,
    ),
    Definition(
        "score_variance",
        "variance of a row's scores over models, mean over rows",
        "(1/(m − 1)) Σ_f (s_f − s̄)²",
        _GANESH,
    ),
    Definition(
        "score_std",
        "standard deviation of a row's scores over models, mean over rows",
        "√ of the variance, row by row",
        _GANESH,
    ),
    Definition(
        "rashomon_capacity",
        "information in bits of the choice of model about a prediction, mean over rows",
        "min_q max_f KL(f(x) ‖ q)",
        "Hsu and Calmon, NeurIPS 2022",
    ),
]
MEASURES = {one.name: one for one in _EVERY}

TERMS = {
    "Rashomon set": (
        "G = {θ ∈ C : L(θ) ≤ min L + ψ}, where L is the mean loss over the rows plus the ridge "
        "penalty, and C is the declared set of models"
    ),
    "Excess": "L(θ) − min L, with the certified minimum",
    "Hit rate": "share of the draws whose excess is at most ψ",
    "Draw": (
        "a model drawn with density ∝ exp(−β·max{L, min L + ψ}) on C (Ganesh, Thakurta and "
        "Upadhyay 2023); β is the inverse temperature"
    ),
    "Sparse tree": (
        "a tree with few leaves over declared yes-or-no questions, none repeated on a path; two "
        "sibling leaves predict different labels; a leaf may predict any label and may contain no "
        "rows"
    ),
    "Draw of a tree": (
        "a tree with probability ∝ exp(−β·max{L, min L + s}) among all sparse trees, where L is "
        "the share of errors plus a penalty per leaf, and s ≤ ψ is the threshold of the mechanism"
    ),
    "(ε, δ)-DP": (
        "for data sets that differ in one record and every event E: "
        "P(E) ≤ e^ε·P'(E) + δ (Dwork, McSherry, Nissim and Smith 2006)"
    ),
    "Bounded range": (
        "log-density ratios of neighbours lie in an interval of width η, which is η-DP and "
        "η²/8-zCDP (Cesar and Rogers 2021)"
    ),
    "Trade-off": (
        "least type II error of a test between neighbours at each type I error (Dong, Roth and Su "
        "2022); μ-GDP is that of two unit normal distributions with means μ apart"
    ),
    "Exact range": "[min, max] over the whole of G, by convex programmes with proved bounds",
    "Permutation importance": "increase of the loss when a feature is shuffled",
    "Model class reliance": (
        "[min, max] over G of the loss with a feature switched between rows, minus the loss "
        "(Fisher, Rudin and Dominici 2019)"
    ),
}
