"""What may leave: aggregates put into a basket, priced, paid for, and bundled; no widgets here."""
