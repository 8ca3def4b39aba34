"""What may leave: aggregates put into a basket, priced, paid for, and bundled; no widgets here."""

from rashomon_explorer.explorer.export.basket import AGGREGATES, Aggregate, Basket
from rashomon_explorer.explorer.export.purchases import Purchase, Purchases, Shop

__all__ = ["AGGREGATES", "Aggregate", "Basket", "Purchase", "Purchases", "Shop"]
