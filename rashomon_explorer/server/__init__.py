"""Server of the dashboard: address, authentication and proxies."""
