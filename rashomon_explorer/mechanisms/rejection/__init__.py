"""Parts of exact rejection."""
