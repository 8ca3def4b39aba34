"""Draws near an earlier release, and perturbed minimisers."""
