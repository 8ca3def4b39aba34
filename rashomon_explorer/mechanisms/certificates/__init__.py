"""Certificates: guarantees of theorems for a Gibbs law or a path, from public numbers only."""
