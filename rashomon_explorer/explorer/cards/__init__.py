"""The figures of the dashboard, each with its table and its Python line."""

from rashomon_explorer.explorer.cards.base import FigureCard
from rashomon_explorer.explorer.cards.bounds import BoundsCard, PromiseCard
from rashomon_explorer.explorer.cards.budget import BudgetCard, PlanCard
from rashomon_explorer.explorer.cards.cloud import CloudCard
from rashomon_explorer.explorer.cards.coefficient_ranges import CoefficientRangesCard, SetRangesCard
from rashomon_explorer.explorer.cards.columns import ColumnsCard
from rashomon_explorer.explorer.cards.compare import PairCard, SetsCard
from rashomon_explorer.explorer.cards.distribution import DistributionCard
from rashomon_explorer.explorer.cards.exact import ExactCard
from rashomon_explorer.explorer.cards.groups import (
    BurdenCard,
    FrontierCard,
    GapsCard,
    WidthOrNoiseCard,
)
from rashomon_explorer.explorer.cards.importance_pair import ImportancePairCard
from rashomon_explorer.explorer.cards.losses import LossesCard
from rashomon_explorer.explorer.cards.penalties import PenaltiesCard
from rashomon_explorer.explorer.cards.people import PeopleCard
from rashomon_explorer.explorer.cards.people_ranges import PeopleRangesCard
from rashomon_explorer.explorer.cards.person import PersonCard
from rashomon_explorer.explorer.cards.profile import ProfileCard
from rashomon_explorer.explorer.cards.release import AggregatesCard, TradeoffCard
from rashomon_explorer.explorer.cards.reliance import ClassRelianceCard
from rashomon_explorer.explorer.cards.spread import SpreadCard
from rashomon_explorer.explorer.cards.tree_answers import (
    TreeFlipsCard,
    TreeParityCard,
    TreeQuestionsCard,
    TreeSizesCard,
    WitnessCard,
)
from rashomon_explorer.explorer.cards.trees import RulesCard, TreesCard, TreeUseCard

CARDS: tuple[type[FigureCard], ...] = (
    LossesCard,
    CloudCard,
    SpreadCard,
    PeopleCard,
    BoundsCard,
    PromiseCard,
    PlanCard,
    BudgetCard,
    CoefficientRangesCard,
    ClassRelianceCard,
    ImportancePairCard,
    ProfileCard,
    DistributionCard,
    PeopleRangesCard,
    PersonCard,
    GapsCard,
    FrontierCard,
    BurdenCard,
    WidthOrNoiseCard,
    AggregatesCard,
    TradeoffCard,
    ColumnsCard,
    SetRangesCard,
    PairCard,
    SetsCard,
    PenaltiesCard,
    TreesCard,
    RulesCard,
    TreeUseCard,
    TreeSizesCard,
    TreeFlipsCard,
    TreeQuestionsCard,
    TreeParityCard,
    WitnessCard,
)
"""Every figure of the page."""

__all__ = [
    "CARDS",
    "AggregatesCard",
    "BoundsCard",
    "BudgetCard",
    "BurdenCard",
    "ClassRelianceCard",
    "CloudCard",
    "CoefficientRangesCard",
    "ColumnsCard",
    "DistributionCard",
    "ExactCard",
    "FigureCard",
    "FrontierCard",
    "GapsCard",
    "ImportancePairCard",
    "LossesCard",
    "PairCard",
    "PenaltiesCard",
    "PeopleCard",
    "PeopleRangesCard",
    "PersonCard",
    "PlanCard",
    "ProfileCard",
    "PromiseCard",
    "RulesCard",
    "SetRangesCard",
    "SetsCard",
    "SpreadCard",
    "TradeoffCard",
    "TreeFlipsCard",
    "TreeParityCard",
    "TreeQuestionsCard",
    "TreeSizesCard",
    "TreeUseCard",
    "TreesCard",
    "WidthOrNoiseCard",
    "WitnessCard",
]
