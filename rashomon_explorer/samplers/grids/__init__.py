"""Exact draws and walks on public grids of models."""
