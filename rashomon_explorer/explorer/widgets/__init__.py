"""The small browser widgets the dashboard adds to ipywidgets."""
