"""The table on the page: its rows as they came, and the one schema that is edited."""
