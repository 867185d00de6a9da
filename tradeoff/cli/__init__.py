"""The command ``tradeoff``: parse, call, print."""
