"""Examples that run in a checkout of the repository."""
