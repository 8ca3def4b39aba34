"""What may leave: aggregates put into a basket, priced, paid for, and bundled; no widgets here."""

from rashomon_explorer.explorer.basket.basket import Basket
from rashomon_explorer.explorer.basket.choices import AGGREGATES, Aggregate
from rashomon_explorer.explorer.basket.purchase import Purchase, Purchases
from rashomon_explorer.explorer.basket.shop import Shop

__all__ = ["AGGREGATES", "Aggregate", "Basket", "Purchase", "Purchases", "Shop"]
