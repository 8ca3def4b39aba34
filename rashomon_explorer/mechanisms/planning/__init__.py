"""Plans: which mechanism and which parameters a privacy budget buys, from public numbers alone."""
