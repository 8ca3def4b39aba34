"""The panels of the dashboard; each is usable alone in a notebook."""
