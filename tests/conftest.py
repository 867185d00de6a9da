"""Hypothesis profiles: the default is quick and repeatable, ``--hypothesis-profile=thorough`` searches."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "thorough",
    max_examples=1000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("default")
