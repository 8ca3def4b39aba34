"""Langevin paths: plan, accounting and sampler."""
