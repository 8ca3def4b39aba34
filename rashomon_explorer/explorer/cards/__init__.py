"""Figure cards of the dashboard, each with its table and Python code."""

from rashomon_explorer.explorer.cards.base import FigureCard
from rashomon_explorer.explorer.cards.budget import BoundsCard, BudgetCard, GuaranteeCard, PlanCard
from rashomon_explorer.explorer.cards.coefficients import (
    CoefficientRangesCard,
    SetRangesCard,
    SpreadCard,
)
from rashomon_explorer.explorer.cards.data import (
    AggregatesCard,
    ColumnsCard,
    PenaltiesCard,
    TradeoffCard,
)
from rashomon_explorer.explorer.cards.groups import (
    BurdenCard,
    FrontierCard,
    GapsCard,
    WidthOrNoiseCard,
)
from rashomon_explorer.explorer.cards.importance import (
    ClassRelianceCard,
    DistributionCard,
    ImportancePairCard,
    ProfileCard,
)
from rashomon_explorer.explorer.cards.models import CloudCard, LossesCard, PairCard, SetsCard
from rashomon_explorer.explorer.cards.people import PeopleCard, PeopleRangesCard, PersonCard
from rashomon_explorer.explorer.cards.tree_answers import (
    ExampleTreeCard,
    RulesCard,
    TreeFlipsCard,
    TreeParityCard,
    TreeQuestionsCard,
    TreesCard,
    TreeSizesCard,
    TreeUseCard,
)

CARDS: tuple[type[FigureCard], ...] = (
    LossesCard,
    CloudCard,
    SpreadCard,
    PeopleCard,
    BoundsCard,
    GuaranteeCard,
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
    ExampleTreeCard,
)
"""All figure cards of the page."""

__all__ = ["CARDS"]
