"""Measurements, each against a limit or a peer in the same run: `make bench`."""
