"""Plans: choose a mechanism and its parameters for a privacy budget, from public numbers only."""
