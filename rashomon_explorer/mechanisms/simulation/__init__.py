"""Simulated tables of the planned shape: whether draws return, and what a model gains."""
