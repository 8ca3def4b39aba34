"""Audits of one fitted model: the models that are as good, and what they disagree on."""
