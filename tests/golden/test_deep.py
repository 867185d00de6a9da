"""Compositions of every kind at delta from 1e-3 to 1e-100: the public functions against deep.json.

The truth must lie inside every bound, and the bounds must be tight: delta to 1e-3 of itself, beta to 1e-3 of
min(beta, 1 - alpha - beta), epsilon to 3e-4. deep.json was computed by bent contours in 45 digits, exact
sums, residues, quadrature and closed forms; each row carries its own relative error, nothing else is allowed
for. Of the curve as built ("f") and its inverse ("~f") there are rows [epsilon, delta, relative error] and
[alpha, beta, relative error]; floats mean their exact binary value, and the Gaussian of noise_multiplier s
has mu = the float 1/s. The rows are checked below by balls, on a contour where they have no law.
"""

import functools
import json
import math
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import pytest
from flint import arb, ctx

from tests.truth import atoms, continuous
from tests.truth.built import built
from tests.truth.operators import Mixture, Product, ReversedPLD, Subsampled
from tests.truth.polygons import Polygon
from tradeoff.proofs.verify.contour import Contour
from tradeoff.proofs.verify.contour import Product as VerifiedProduct

CASES = {
    case["id"]: case for case in json.loads((Path(__file__).parent / "deep.json").read_text(encoding="utf-8"))
}

WIDTH_OF_DELTA, WIDTH_OF_BETA, WIDTH_OF_EPSILON = 1e-3, 1e-3, 3e-4

OUT_OF_REACH = {
    ("delta", "sgm p=.01 s=1 n=2", "~f"): "two nearly atomic rounds at delta = 1e-100",
    ("delta", "sgm p=1e-5 s=.6 n=1e5", "f"): "a few rare jumps: neither engine resolves delta below 1e-50",
    ("epsilon", "sgm p=1e-5 s=.6 n=1e5", "f"): "as above",
    ("beta", "sgm p=1e-5 s=100 n=1", "~f"): "1 - alpha - beta is below 1e-14, finer than floats near 1",
}
"""Questions that raise PrecisionError at these widths, and why; their bounds hold all the same."""


def response(odds, categories):
    total = odds + categories - 1
    low, high = Fraction(1, total), Fraction(categories - 1, total)
    return Polygon((Fraction(0), low, high, Fraction(1)), (Fraction(1), high, low, Fraction(0)))


def one_sided(f):
    """Outcomes P = (alpha, 1 - alpha - lost, lost), Q = (1 - beta, beta, 0)."""
    alpha, beta, lost = (Fraction(f[name]) for name in ("alpha", "beta", "lost"))
    return Polygon((Fraction(0), alpha, 1 - lost), (Fraction(1), beta, Fraction(0)))


DESCRIBE = {
    "gaussian": lambda f: continuous.Gaussian(1 / f["noise_multiplier"]),
    "subsampled_gaussian": lambda f: Subsampled(DESCRIBE["gaussian"](f), f["sample_rate"]),
    "laplace": lambda f: continuous.Laplace(f["epsilon"]),
    "pure_dp": lambda f: atoms.PureDP(f["epsilon"]),
    "subsampled_pure_dp": lambda f: Subsampled(DESCRIBE["pure_dp"](f), f["sample_rate"]),
    "approximate_dp": lambda f: Product(((DESCRIBE["pure_dp"](f), 1), (DESCRIBE["total_variation"](f), 1))),
    "total_variation": lambda f: atoms.TotalVariation(f["delta"]),
    "response": lambda f: response(f["odds"], f["categories"]),
    "one_sided": one_sided,
    "discrete_gaussian": lambda f: atoms.DiscreteGaussian(f["sigma"], f["shift"]),
    "discrete_laplace": lambda f: atoms.DiscreteLaplace(f["scale"], f["shift"]),
    "mixture": lambda f: Mixture(tuple((w, DESCRIBE[part["kind"]](part)) for w, part in f["parts"])),
}


def described(case):
    return Product(tuple((DESCRIBE[f["kind"]](f), f["count"]) for f in case["factors"]))


@functools.cache
def composed(name, order):
    curve = built(described(CASES[name]))
    return ~curve if order == "~f" else curve


def interval(value, relative_error):
    """Return the values that the golden number allows."""
    with mp.workdps(40):
        truth = mp.mpf(value)
        return truth * (1 - mp.mpf(relative_error)), truth * (1 + mp.mpf(relative_error))


def outwards(low, high):
    """Return floats around an interval."""
    return math.nextafter(float(low), 0.0), math.nextafter(float(high), 1.0)


SLOW = {
    *("sgm p=.1 s=2 n=20", "sgm p=.01 s=.5 n=100", "sgm p=.01 s=1 n=2", "sgm p=1e-5 s=.6 n=1e5"),
    *("sgm p=1e-3 s=.3 n=2", "five distinct sgm", "discrete Gaussians", "discrete Gaussians of two shifts"),
    *("pure .01, .01 sqrt 3 n=1000", "mixture of Gaussian and pure n=8", "sgm p=.05 s=.8 n=5"),
}
"""Seconds each at delta = 1e-100; other cases have factors of the same kinds."""


def rows(question):
    for name, case in CASES.items():
        marks = [pytest.mark.slow] if name in SLOW and question == "delta" else []
        for order in ("f", "~f"):
            if case.get(order, {}).get(question):
                yield pytest.param(name, order, id=f"{name} {order}", marks=marks)


def pair_claims(table, bounds):
    return [(r[0], *map(mp.mpf, ends), *interval(*r[1:])) for r, *ends in zip(table, *bounds, strict=True)]


def check_rows(question, name, order, claims, wide, limit):
    """Assert that each claim (place, low, high, least, most) holds, and is as narrow as is stated."""
    for at, low, high, least, most in claims:
        assert low <= most, f"lower bound above the truth of {question} at {at}"
        assert high >= least, f"upper bound below the truth of {question} at {at}"
    assert (max(wide) <= limit) == ((question, name, order) not in OUT_OF_REACH), wide


@pytest.mark.parametrize(("name", "order"), list(rows("delta")))
def test_delta(name, order):
    table = CASES[name][order]["delta"]
    tol = None if ("delta", name, order) in OUT_OF_REACH else WIDTH_OF_DELTA
    claims = pair_claims(table, composed(name, order).bounds.delta([row[0] for row in table], tol=tol))
    wide = [(b - a) / mp.mpf(row[1]) for row, (_, a, b, *_) in zip(table, claims, strict=True)]
    check_rows("delta", name, order, claims, wide, WIDTH_OF_DELTA)


@pytest.mark.parametrize(("name", "order"), list(rows("delta")))
def test_epsilon(name, order):
    """delta(epsilon) is between two floats, so epsilon is between the answers at them."""
    table = CASES[name][order]["delta"]
    tol = None if ("epsilon", name, order) in OUT_OF_REACH else WIDTH_OF_EPSILON
    around = [outwards(*interval(value, error)) for _, value, error in table]
    lower, upper = composed(name, order).bounds.epsilon(around, tol=tol)
    claims = [(v, a[1], b[0], e, e) for (e, v, _), a, b in zip(table, lower, upper, strict=True)]
    check_rows("epsilon", name, order, claims, upper[:, 0] - lower[:, 0], WIDTH_OF_EPSILON)


@pytest.mark.parametrize(("name", "order"), list(rows("beta")))
def test_beta(name, order):
    table = CASES[name][order]["beta"]
    claims = pair_claims(table, composed(name, order).bounds([row[0] for row in table]))
    with mp.workdps(40):
        wide = []
        for (alpha, value, _), (_, low, high, *_) in zip(table, claims, strict=True):
            scale = min(mp.mpf(value), 1 - mp.mpf(alpha) - mp.mpf(value))
            # The nearest floats around a beta close to 1 may be further apart than that.
            wide.append(max(high - low - 4 * math.ulp(float(value)), 0) / scale if scale > 0 else 0)
    check_rows("beta", name, order, claims, wide, WIDTH_OF_BETA)


def expanded(product):
    """Return a power of a mixture as the mixture of products that it is."""
    ((one, n), *rest) = product.parts
    if not isinstance(one, Mixture) or rest:
        return product
    (w, first), (v, second) = one.parts
    terms = [
        (math.comb(n, k) * Fraction(w) ** k * Fraction(v) ** (n - k), ((first, k), (second, n - k)))
        for k in range(n + 1)
    ]
    return Mixture(tuple((weight, Product(parts)) for weight, parts in terms))


LAST_DIGIT = 5e-25
"""Values have 25 digits."""

MANY = {"discrete Gaussians", "discrete Gaussians of two shifts", "pure .01, .01 sqrt 3 n=1000"}
"""Of a million atoms and more; sums over one law of the hockey stick of the other agree."""

QUICK = {"sgm p=1e-4 s=5 n=1e9", "laplace .05 n=1e4", "sgm p=.9 s=30 n=1000"}

IN_BALLS = [
    pytest.param(name, question, marks=[pytest.mark.slow] if name == "discrete Gaussian n=50" else [])
    for name, case in CASES.items()
    if case["method"] in {"exact sums", "closed form", "conditioning"} and name not in MANY
    for question in ("delta", "beta")
]


@pytest.mark.parametrize(("name", "question"), IN_BALLS)
def test_rows_agree_with_balls(name, question):
    spec = expanded(described(CASES[name]))
    for order, one in (("f", spec), ("~f", ReversedPLD(spec))):
        for at, value, error in CASES[name].get(order, {}).get(question, ()):
            truth = getattr(one, question)(at)
            assert truth.overlaps(arb(value) * (1 + arb(0, error + LAST_DIGIT)))
            assert truth.rel_accuracy_bits() > 60


LAWS = {
    "gaussian": lambda f: {"kind": "gaussian", "mu": 1 / f["noise_multiplier"]},
    "laplace": lambda f: {"kind": "laplace", "epsilon": f["epsilon"]},
    "subsampled_gaussian": lambda f: {"kind": "thinned", "p": f["sample_rate"], "base": LAWS["gaussian"](f)},
    "mixture": lambda f: {"kind": "mixed", "parts": [(w, LAWS[g["kind"]](g)) for w, g in f["parts"]]},
}
ON_CONTOURS = [
    pytest.param(name, order, marks=[] if name in QUICK else [pytest.mark.slow])
    for name, case in CASES.items()
    if case["method"] == "contour" and all(f["kind"] in LAWS for f in case["factors"])
    if name != "sgm p=1e-5 s=.6 n=1e5"  # of whose 1e-99 as many nodes leave two digits
    for order in ("f", "~f")
    if order in case
]


@pytest.mark.parametrize(("name", "order"), ON_CONTOURS)
def test_rows_agree_with_contours_in_balls(name, order):
    """The contour of the verifier, which shares nothing with the engines, at the delta in the middle."""
    case = CASES[name]
    epsilon, value, error = case[order]["delta"][len(case[order]["delta"]) // 2]
    factors = [{"law": LAWS[f["kind"]](f), "count": f["count"]} for f in case["factors"]]
    with ctx.workprec(256):
        product = VerifiedProduct(factors, reverse=order == "~f")
        truth = Contour(product, epsilon, middle=False, count=2**13).bound(epsilon)
        assert truth.overlaps(arb(value) * (1 + arb(0, error + LAST_DIGIT)))
        assert truth.rel_accuracy_bits() > 20
