"""Release of aggregates and export of bundles; no widgets here."""
