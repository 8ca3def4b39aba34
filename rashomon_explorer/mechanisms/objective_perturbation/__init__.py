"""Objective perturbation: plan, accounting and sampler."""
