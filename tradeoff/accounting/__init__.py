"""From privacy loss distributions to certified numbers: the planner, the engines and their caches.

No privacy policy here.
"""
