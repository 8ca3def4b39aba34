"""The dashboard as a server: where it listens, for whom, and behind which proxies."""
