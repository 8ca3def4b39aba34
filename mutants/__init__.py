"""Wrong constants, one at a time, and whether the tests notice: `make mutants`."""
