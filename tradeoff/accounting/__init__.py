"""From privacy loss distributions to certified numbers: the planner, the engines and their caches.

Nothing here depends on mechanisms or neighbours: only on laws and their counts.
"""
