"""Mechanisms that draw near an earlier release, or under a ridge of their own choice."""
