"""Uses that must not type-check: one a line, in lambdas that nobody calls."""

import tradeoff as to

f = to.Gaussian(1)

WRONG = [
    lambda: to.Gaussian("a"),
    lambda: to.Laplace([1, 2]),
    lambda: to.PureDP(None),
    lambda: to.subsample(f, "half"),
    lambda: to.mixture([f, f]),
    lambda: to.foo,
    lambda: f @ 3,
    lambda: f**0.5,
    lambda: f("a"),
    lambda: f.delta(None),
    lambda: f.epsilon(1e-5, tolerance=1e-3),
    lambda: f.bounds.epsilon(1e-5, method="guess"),
    lambda: f.bounds.delta([1.0]).upper + "",
    lambda: f(0.1).shape,
    lambda: f.symmetrise(assume="neither"),
    lambda: f.gdp("few"),
    lambda: f >= 3,
    lambda: f.answer,
]
