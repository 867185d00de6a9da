"""Certificates enclose the truth and verify; changed ones, and malformed laws, are refused."""

import json
import math
import random
import re
import subprocess
import sys
from fractions import Fraction
from functools import reduce

import mpmath
import pytest
import scipy.stats as st
from flint import acb, arb, ctx

import tradeoff as to
from tests.truth import continuous as truth
from tests.truth.atoms import DiscreteGaussian, Masses, PureDP
from tests.truth.built import built
from tests.truth.claims import check
from tests.truth.operators import Product as Of
from tests.truth.operators import ReversedPLD
from tradeoff.errors import DomainError, NoClosedForm, PrecisionError, VerificationError
from tradeoff.proofs import Certificate
from tradeoff.proofs.certificate import read_certificates
from tradeoff.proofs.verify.__main__ import main
from tradeoff.proofs.verify.contour import AtomSum, Contour, Product, gather_nodes, phased_sums
from tradeoff.proofs.verify.laws import outward, read_law
from tradeoff.proofs.verify.verifier import EFFORTS, Profile


def dp_sgd(sigma, rate, steps):
    return to.subsample(to.Gaussian(1 / sigma), rate) ** steps


def certified(curve, question, at, **options):
    """Return a certificate that was verified from its text."""
    made = Certificate.from_json(to.certify(curve, question, at, **options).to_json())
    assert all(check.proved for check in to.verify(made).checks)
    return made


NARROW = [
    # a contour and extrapolated lattices agree on these values, to nine digits
    (dp_sgd(1, 0.01, 1000), 1e-5, 1e-8, 1.8282366665, 1e-8),
    (dp_sgd(0.8, 0.001, 10**6), 1e-5, 1e-8, 9.6927071864, 1e-8),
    pytest.param(dp_sgd(0.5, 1e-4, 10**5), 1e-5, 1e-8, 2.0577496498, 1e-8, marks=pytest.mark.slow),
    (dp_sgd(3, 0.001, 1000), 10**-6.6, None, 0.0413693716, math.inf),
    # of the other order, and near the largest loss, no contour closes
    (to.mechanisms.SubsampledGaussian(1, 0.01).guarantee(100), 1e-5, None, 0.7180356613, 1e-8),
    (to.Laplace(1), 1e-5, None, 1 + 2 * math.log1p(-1e-5), 2e-4),
    # few or rare rounds
    (dp_sgd(1, 1e-3, 1000), 1e-5, None, None, 1e-8),
    pytest.param(dp_sgd(0.63, 0.002, 100), 2.5e-5, None, None, 1e-8, marks=pytest.mark.slow),
    (to.Laplace(0.1) ** 50, 1e-5, 1e-3, None, 1e-4),
    pytest.param(to.Laplace(0.1) ** 50, 1e-5, None, None, 1e-5, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("curve", "delta", "tol", "truth", "goal"), NARROW)
def test_certify_epsilon_is_narrow_and_encloses_reference(curve, delta, tol, truth, goal):
    made = to.certify(curve, "epsilon", delta, tol=tol)  # which returns what the verifier has proved
    assert Certificate.from_json(made.to_json()) == made
    assert made.upper - made.lower <= goal
    assert truth is None or made.lower - 3e-9 <= truth <= made.upper + 3e-9


SIDES = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 5), Fraction(1, 5), Fraction(3, 5))
SIX = Of(((Masses(*SIDES), 6),))


@pytest.mark.parametrize(
    ("spec", "question", "at"),
    [
        *((spec, *each) for spec in (SIX, ReversedPLD(SIX)) for each in (("delta", 0.5), ("epsilon", 1e-3))),
        *((spec, "beta", 0.125) for spec in (SIX, ReversedPLD(SIX))),
        *((truth.Gaussian(1.5), *each) for each in (("delta", 2.0), ("beta", 0.1))),
    ],
)
def test_certify_encloses_balls(spec, question, at):
    made = certified(built(spec), question, at)
    check((made.lower, made.upper), getattr(spec, question)(at), 0.0, 1e-7)
    assert question != "beta" or made.upper - made.lower < 1e-12


def test_certify_beta_of_losses_whose_exponential_is_no_float_encloses_answer():
    f = to.PureDP(2000.0) @ to.TotalVariation(0.0129)
    made = certified(f, "beta", 0.01)
    assert made.lower <= f.bounds(0.01).upper
    assert made.upper >= f.bounds(0.01).lower


def test_certify_takes_the_worse_order_and_raises_where_nothing_can_be_proved(monkeypatch):
    curve = dp_sgd(0.6, 0.01, 2000)
    worse = certified(curve.symmetrise(assume="either-order"), "epsilon", 1e-5)
    one, other = (to.certify(each, "epsilon", 1e-5) for each in (curve, ~curve))
    assert worse.orders == "both"
    assert max(one.lower, other.lower) <= worse.upper
    assert worse.lower <= max(one.upper, other.upper)
    assert (one.upper, other.upper) == pytest.approx((9.95, 5.11), abs=0.01)
    sampled = to.subsample(to.Gaussian(1), 0.01, scheme="without-replacement") ** 500
    for curve in (
        sampled,
        to.LocationShift(st.logistic(), 0.2) ** 60,
        to.maximum(to.Gaussian(1), to.Laplace(1)),
        to.Gaussian(1).symmetrise(assume="either-order") @ to.LocationShift(st.logistic(), 1),
    ):
        with pytest.raises(NoClosedForm, match=r"certify curve\.lower"):
            to.certify(curve, "delta", 1.0)
    polygon = sampled.tabulate([0.01, 0.1, 0.5]).lower
    made = certified(polygon, "beta", 0.1)
    assert made.lower <= polygon(0.1) <= made.upper
    monkeypatch.setattr("tradeoff.proofs.certify.EFFORTS", EFFORTS[:1])  # more of it does not help here
    with pytest.raises(PrecisionError, match="reachable here") as caught:
        to.certify(to.Laplace(0.1) ** 50, "delta", 0.5, tol=1e-9)
    assert caught.value.reachable > 1e-9
    curve = to.PureDP(0.1) ** 20  # a bound that the verifier refutes is not widened in silence
    wrong = to.Bounds(0.5, 0.6)
    monkeypatch.setattr(type(curve.bounds), "delta", lambda *_args, **_options: wrong)
    with pytest.raises(VerificationError, match="the engines and the verifier disagree"):
        to.certify(curve, "delta", 0.5)


GAUSSIAN = {"kind": "gaussian", "mu": 0.8}
STEP = {"kind": "thinned", "p": 0.03, "base": GAUSSIAN}
RESPONSE = {"kind": "response", "epsilon": 0.3}
LAPLACE = {"kind": "laplace", "epsilon": 0.7}
THREE = {"kind": "masses", "p": ["1/2", "1/3", "1/6"], "q": ["1/6", "1/3", "1/2"]}


def factors(*laws):
    return tuple({"law": law, "count": n} for law, n in laws)


@pytest.fixture(autouse=True)
def precision():
    with ctx.workprec(256):
        yield


@pytest.fixture(scope="module")
def epsilon():
    return to.certify(to.subsample(to.Gaussian(1), 0.1) ** 50 @ to.PureDP(0.1), "epsilon", 1e-5)


def changed(certificate, path, value):
    content = inner = json.loads(certificate.to_json())
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return Certificate.from_json(json.dumps(content))


def constant(value):
    return lambda _: value


CHANGES = {
    ("at",): (lambda x: x / 1.001, lambda x: x * 1.001),
    ("lower",): (lambda x: x + 1e-6,),
    ("upper",): (lambda x: x - 1e-6, lambda _: math.nan, lambda _: "9"),
    ("factors", 0, "count"): (lambda n: n + 1, lambda n: n - 1, *map(constant, (True, -1, 10**13))),
    ("factors", 0, "law", "kind"): (lambda _: "magic",),
    ("factors", 0, "law", "noise"): (lambda _: 1,),
    ("question",): (lambda _: "delta", lambda _: "epsilon "),
    ("orders",): (lambda _: "either",),
    ("factors",): (lambda _: [], lambda _: [1], lambda laws: laws[:1]),
}


@pytest.mark.parametrize("path", CHANGES, ids=str)
def test_verify_changed_certificate_is_refused(epsilon, path):
    content = json.loads(epsilon.to_json())
    for key in path:
        content = content.get(key) if isinstance(content, dict) else content[key]
    for change in CHANGES[path]:
        with pytest.raises(VerificationError):
            to.verify(changed(epsilon, path, change(content)))


def test_verify_wider_or_one_sided_bounds_is_still_true_but_not_iterators_of_laws(epsilon):
    assert to.verify(changed(epsilon, ("lower",), epsilon.lower - 0.5)).checks
    assert to.verify(changed(epsilon, ("upper",), epsilon.upper + 0.5)).checks
    (check,) = to.verify(changed(epsilon, ("lower",), -math.inf)).checks
    assert check.side == "<="
    none = changed(changed(epsilon, ("lower",), -math.inf), ("upper",), math.inf)
    with pytest.raises(VerificationError, match="must be finite"):
        to.verify(none)
    assert to.verify(Certificate("delta", 1.0, 0.0, 1.0, "one", factors((STEP, 3)))).checks
    with pytest.raises(VerificationError, match="must be at least lower"):
        to.verify(Certificate("delta", 1.0, 0.9, 0.1, "one", factors((STEP, 3))))
    # An iterator has no factors left for the other order.
    law = {"kind": "masses", "p": ["1/2", "1/2"], "q": ["0", "1"]}
    with pytest.raises(VerificationError, match="factors: must be a list"):
        to.verify(Certificate("delta", 1.0, 0.0, 0.1, "both", iter([{"law": law, "count": 1}])))


MIXTURES = {"kind": "gaussian mixtures", "means": ["0", "1"]}
NOTHING_INFINITE = {"mass_at_minus_infinity": 0.0, "mass_at_plus_infinity": 0.0}


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (GAUSSIAN | {"square": "1"}, "must be given once, or its square"),
        ({"kind": "gaussian", "mu": -1.0}, "must be a finite number above 0"),
        ({"kind": "gaussian", "square": "1e999999999"}, "malformed"),  # an integer of 400 MB
        (MIXTURES | {"p": ["1/2", "1/2"], "q": ["1", "0"]}, "increase"),
        (MIXTURES | {"p": ["1", "0"], "q": ["1/2", "1/3"]}, "sum 1"),
        ({"kind": "masses", "p": ["1/2", "1/2"], "q": ["1/2", "1/3"]}, "sum 1"),
        ({"kind": "atoms", "loss": [0.1], "log_p": [0.0], **NOTHING_INFINITE}, "masses must add to 1"),
        ({"kind": "thinned", "p": 1.5, "base": GAUSSIAN}, r"must be in \(0, 1\]"),
        ({"kind": "mixed", "parts": [[0.5, GAUSSIAN], [0.4, STEP]]}, "weights must add to 1"),
        ({"kind": "discrete gaussian", "sigma": 1.0, "shift": 0.5}, "positive integer"),
        ({"kind": "discrete gaussian", "sigma": 1e9, "shift": 1}, "more than"),
        (reduce(lambda law, _: {"kind": "reversed", "base": law}, range(20), RESPONSE), "nested"),
    ],
)
def test_read_law_malformed_description_raises(law, message):
    with pytest.raises(VerificationError, match=message):
        to.verify(Certificate("delta", 0.5, 0.0, 1.0, "one", factors((law, 1), (RESPONSE, 1))))


def transform(law, z):
    """Return M(z) of a subsampled Gaussian or Laplace law by quadrature."""
    p, base = mpmath.mpf(law["p"]), law["base"]

    def power(loss):
        return mpmath.exp(z * mpmath.log(1 - p + p * mpmath.exp(loss)))

    if base["kind"] == "gaussian":
        mu = mpmath.mpf(base["mu"])
        points = [mpmath.mpf(k) for k in range(-12, 17, 4)]
        return mpmath.quad(lambda x: mpmath.npdf(x) * power(mu * x - mu * mu / 2), points)
    e = mpmath.mpf(base["epsilon"])
    ends = power(e) * mpmath.exp(-e) / 2 + power(-e) / 2
    return ends + mpmath.quad(lambda u: mpmath.exp(-u) / 2 * power(2 * u - e), [0, e / 2, e])


@pytest.mark.parametrize("base", [GAUSSIAN, LAPLACE, LAPLACE | {"epsilon": 5.0}])
@pytest.mark.parametrize("c", [0.4, 3.0])
def test_transform_nodes_enclose_quadrature(base, c):
    law = {"kind": "thinned", "p": 0.2, "base": base}
    parts, (step, count) = read_law(law), (7.5, 3)
    nodes = gather_nodes(parts, arb(c), step * count, 90)
    values = [z + nodes.error * acb(arb(0, 1), arb(0, 1)) for z in phased_sums(nodes, step, count)]
    with mpmath.workdps(25):
        for k, value in enumerate(values):
            truth = transform(law, mpmath.mpc(c, step * k))
            assert value.real.rad() < 1e-20
            assert abs(complex(value.mid()) - complex(truth)) < 1e-15
        for y in (5.0, 20.0):
            most = sum((part.bound(arb(c), y, 30) for part in parts), arb(0))
            for further in (0, 15):
                assert abs(transform(law, mpmath.mpc(c, y + further))) <= float(most.upper())


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("x", [-0.7, 0.4, 1.9])
def test_contour_encloses_exact_sum(n, x):
    product = Product(factors((RESPONSE, n), (THREE, 2)))
    truth = AtomSum(product).delta(x)
    if product.sup_loss > x:
        for middle in (False, True):
            psi = Contour(product, x, middle=middle, count=2**11).bound(x)
            delta = 1 - psi if middle else psi
            assert delta.lower() <= truth.lower() <= truth.upper() <= delta.upper()


def test_contour_encloses_closed_form_enumeration_quadrature_and_atoms_left_out():
    """A mixture of one law is that law: 50 steps of 0.8 are one of 0.8 sqrt(50)."""
    product = Product(factors(({"kind": "mixed", "parts": [[0.5, GAUSSIAN], [0.5, GAUSSIAN]]}, 50)))
    for x in (10.0, 20.0):
        enclosure = Contour(product, x, middle=False, count=2).bound(x)
        assert enclosure.contains(truth.Gaussians(((0.8, 50),)).delta(x))
        assert enclosure.rad() < 1e-12 * enclosure.mid()
    product = Product(factors((GAUSSIAN, 1), (RESPONSE, 2)))
    spec = Of(((truth.Gaussian(0.8), 1), (PureDP(0.3), 2)))
    for x in (0.5, 2.0):
        assert Contour(product, x, middle=False, count=2).bound(x).contains(spec.delta(x))
    # M of the reversed law at z is M of the law at 1 - z.
    law = {"kind": "thinned", "p": 0.2, "base": GAUSSIAN}
    (part,) = read_law({"kind": "reversed", "base": law})
    with mpmath.workdps(25):
        for y in (0.0, 25.0):
            most = float(part.bound(arb(2.5), y, 30).upper()) * (1 + 1e-15)
            assert abs(transform(law, mpmath.mpc(1 - 2.5, -y))) <= most
    # Balls of few bits list few atoms, and enclose the sum over many.
    law, sure = {"kind": "discrete gaussian", "sigma": 2.0, "shift": 1}, DiscreteGaussian(2.0).delta(0.5)
    for bits in (16, 256):
        with ctx.workprec(bits):
            assert AtomSum(Product(factors((law, 1)))).delta(0.5).contains(sure)


@pytest.mark.parametrize("seed", range(4))
def test_beta_any_losses_enclose_balls(seed):
    """Wherever the hinted losses lie, the enclosure holds the truth."""
    draw = random.Random(seed)
    exact = Masses(*(tuple(map(Fraction, THREE[side])) for side in "pq")).beta(0.25)
    for _ in range(200):
        losses = tuple(draw.uniform(-2, 2) for _ in range(draw.randint(1, 6)))
        profile = Profile(Certificate("beta", 0.25, 0.0, 1.0, "one", factors((THREE, 1)), losses), 0)
        check(outward(profile.beta(0.25, losses)), exact)


def test_python_m_prints_the_verdict_first_and_loads_no_engine(epsilon, tmp_path, capsys):
    path = tmp_path / "certificate.json"
    path.write_text(epsilon.to_json(), encoding="utf-8")
    command = """
import runpy, sys
try:
    runpy.run_module("tradeoff.proofs.verify", run_name="__main__", alter_sys=True)
except SystemExit as end:
    rooms = {"curves", "families", "operators", "accounting", "intervals", "pld"}
    print(end.code, [each for each in sys.modules if {*each.split(".")[1:2]} & rooms and "tradeoff." in each])
"""
    result = subprocess.run([sys.executable, "-c", command, path], capture_output=True, text=True, check=True)
    lines = result.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("VERIFIED", "0 []")
    path.write_text(changed(epsilon, ("upper",), epsilon.lower).to_json(), encoding="utf-8")
    assert main([str(path)]) == 1
    assert capsys.readouterr().out.startswith("NOT VERIFIED:")


FIELDS = '{"format": 5, "factors": [], "losses": [], "extra": 1}'


def test_every_number_of_the_laws_counts_and_other_texts_are_refused(tmp_path, epsilon):
    for read, text, message in (
        (Certificate.from_json, "[1]", "must be a JSON object"),
        (Certificate.from_json, '{"format": 4}', "format must be 5, got 4"),
        (Certificate.from_json, FIELDS, "not a certificate: .*'extra'"),
        (read_certificates, tmp_path, "cannot be read: Is a directory"),
        (to.verify, "{}", "must be a tradeoff.proofs.Certificate, got '{}'; its from_json reads"),
    ):
        with pytest.raises(DomainError, match=message):
            read(text)
    written = Certificate("delta", 1.0, 0.0, 1.0, "one", factors(*[(RESPONSE, 2)] * 12), exact="yes")
    assert re.search(r"for both orders of 2 x response\(epsilon=0.3\) and .*; not exact: ", str(written))
    laws = [factor["law"] for factor in json.loads(epsilon.to_json())["factors"]]
    step = next(k for k, law in enumerate(laws) if law["kind"] == "thinned")
    for k, *names in (step, "p"), (step, "base", "mu"), (1 - step, "epsilon"):
        law = laws[k]
        for name in names:
            law = law[name]
        with pytest.raises(VerificationError):
            to.verify(changed(epsilon, ("factors", k, "law", *names), law * (1 + 1e-4)))
    made = to.certify(to.PureDP(0.2) ** 30, "beta", 0.1)
    for losses in ([], [0.0], [0.0, 1.0], [math.nan], ["1"], [5.0, 6.0, 7.0, 8.0]):
        with pytest.raises(VerificationError):
            to.verify(changed(made, ("losses",), losses))
    higher = changed(made, ("upper",), made.upper + 1e-3)
    with pytest.raises(VerificationError, match="is refuted"):
        to.verify(changed(higher, ("lower",), made.upper + 1e-4))
