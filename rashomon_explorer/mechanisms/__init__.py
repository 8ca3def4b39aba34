"""Mechanisms: differentially private algorithms, their plans and their samplers."""
