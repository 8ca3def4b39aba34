"""Functions that create sets, one file for each source."""
