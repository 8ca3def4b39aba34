"""Browser widgets that the dashboard adds to ipywidgets."""
