"""What must hold between answers, whatever the truth is: each relation yields what it finds broken."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from flint import arb, ctx

import tradeoff as to
from tests.fuzz.draw import Drawer
from tests.truth.atoms import Atomic, TooMany
from tests.truth.balls import ball
from tests.truth.built import built
from tests.truth.claims import answer_query, check_range, overlap, refuted
from tests.truth.operators import Product, Subsampled
from tests.truth.spec import Spec
from tradeoff.errors import NoClosedForm, PrecisionError, Undecided
from tradeoff.spec.saved_file import FILES

Relation = Callable[[Spec, Drawer], Iterator[str]]


def disagree(question: str, at: object, **claims: to.Bounds) -> Iterator[str]:
    """Yield the claims that share no point with the first one."""
    (first, one), *others = claims.items()
    for name, two in others:
        if not overlap(one, two):
            yield f"{question}({at!r}): {first} {one}, {name} {two}"


def point(question: str, draw: Drawer) -> float:
    """Draw a point to ask at."""
    if question == "epsilon":
        return draw.delta(0.0)
    return draw.alpha([]) if question == "beta" else draw.epsilon([])


def one_question(draw: Drawer) -> tuple[str, float]:
    question = draw.random.choice(["beta", "delta", "epsilon"])
    return question, point(question, draw)


def engines_meet(spec: Spec, draw: Drawer) -> Iterator[str]:
    """Forced engines and the usual answer share a point."""
    (question, at), curve = one_question(draw), built(spec)
    result = {"usual": answer_query(curve, question, at)}
    for method in draw.random.sample(["closed-form", "exact", "lattice", "contour"], 2):
        try:
            result[method] = answer_query(curve, question, at, method=method)
        except (NoClosedForm, PrecisionError, to.errors.DomainError, to.errors.SizeError):
            continue
    yield from disagree(question, at, **result)


def factors_commute(spec: Spec, draw: Drawer) -> Iterator[str]:
    """f (x) g and g (x) f are one curve and give one answer, to the bit."""
    f, g, (question, at) = built(spec), built(draw.family()), one_question(draw)
    one, two = f @ g, g @ f
    if one != two or hash(one) != hash(two):
        yield f"f @ g != g @ f for g = {g!r}"
    if answer_query(one, question, at) != answer_query(two, question, at):
        both = f"of f @ g {answer_query(one, question, at)}, of g @ f {answer_query(two, question, at)}"
        yield f"{question}({at!r}) {both}, g = {g!r}"


def powers_split(spec: Spec, draw: Drawer) -> Iterator[str]:
    """f^(m + n) and f^m (x) f^n share a point."""
    f, (question, at) = built(spec), one_question(draw)
    m, n = draw.random.randint(1, 3), draw.random.randint(1, 3)
    one, two = answer_query(f ** (m + n), question, at), answer_query(f**m @ f**n, question, at)
    yield from disagree(question, at, **{f"f ** {m + n}": one, f"f ** {m} @ f ** {n}": two})


def profile_turns(spec: Spec, draw: Drawer) -> Iterator[str]:
    """delta of f^-1 at eps is 1 - e^eps + e^eps delta_f(-eps)."""
    f, epsilon = built(spec), draw.random.uniform(-5, 5)
    there, back = answer_query(~f, "delta", epsilon), answer_query(f, "delta", -epsilon)
    with ctx.workprec(400):
        s = ball(epsilon).exp()
        least, most = (1 - s + s * ball(x) for x in back)
    if arb(there.upper) < least or arb(there.lower) > most:
        yield f"delta({epsilon!r}) of ~f {there}, reversed [{least.str(20)}, {most.str(20)}]"


def twice_is_nothing(spec: Spec, draw: Drawer) -> Iterator[str]:
    """f^-1^-1 = f."""
    f, (question, at) = built(spec), one_question(draw)
    yield from disagree(question, at, f=answer_query(f, question, at), twice=answer_query(~~f, question, at))


def answers_fall(spec: Spec, draw: Drawer) -> Iterator[str]:
    """f, delta and epsilon fall."""
    f, (question, at) = built(spec), one_question(draw)
    other = draw.near(at) if draw.chance(0.5) else point(question, draw)
    low, high = sorted((at, min(max(other, 0.0), 1.0) if question != "delta" else other))
    first, second = answer_query(f, question, low), answer_query(f, question, high)
    if second.lower > first.upper:
        yield f"{question} rises: {low!r} {first}, {high!r} {second}"


def more_is_less_private(spec: Spec, draw: Drawer) -> Iterator[str]:
    """More rounds, and a larger rate, lose more."""
    n, p, (question, at) = draw.random.randint(1, 4), draw.rate(), one_question(draw)
    q = max(p, draw.rate())
    for less, more in (
        (Product(((spec, n),)), Product(((spec, n + 1),))),
        (Subsampled(spec, min(p, q)), Subsampled(spec, q)),
    ):
        for turn in (False, True):
            f, g = ((~built(one) if turn else built(one)) for one in (less, more))
            fewer, greater = answer_query(f, question, at), answer_query(g, question, at)
            wrong = greater.lower > fewer.upper if question == "beta" else fewer.lower > greater.upper
            if wrong:
                yield f"{question}({at!r}): {f!r} {fewer}, less private {g!r} {greater}"


def dual_holds(spec: Spec, draw: Drawer) -> Iterator[str]:
    """Every line supports: f(alpha) >= 1 - delta(eps) - e^eps alpha."""
    f, alpha, epsilon = built(spec), draw.alpha([]), draw.random.uniform(-6, 6)
    delta, beta = answer_query(f, "delta", epsilon), answer_query(f, "beta", alpha)
    with ctx.workprec(400):
        line = 1 - ball(delta.upper) - ball(epsilon).exp() * ball(alpha)
    if arb(beta.upper) < line:
        yield f"f({alpha!r}) {beta} lies below the line of delta({epsilon!r}) {delta}"


def epsilon_inverts(spec: Spec, draw: Drawer) -> Iterator[str]:
    """delta(eps(delta)) <= delta."""
    f, delta = built(spec), draw.delta(0.0)
    least = answer_query(f, "epsilon", delta)
    if math.isfinite(least.upper) and answer_query(f, "delta", least.upper).lower > delta:
        yield f"epsilon({delta!r}) {least}, and delta there {answer_query(f, 'delta', least.upper)}"


def arrays_are_scalars(spec: Spec, draw: Drawer) -> Iterator[str]:
    """An array's entries and scalar answers share points."""
    question = draw.random.choice(["beta", "delta", "epsilon"])
    at = np.array([point(question, draw) for _ in range(3)])
    together = answer_query(built(spec), question, at.reshape(3, 1))
    if together.lower.shape != (3, 1):
        yield f"{question} of shape (3, 1) has shape {together.lower.shape}"
    for k in range(3):
        alone = answer_query(built(spec), question, float(at[k]))
        among = to.Bounds(together.lower[k, 0], together.upper[k, 0])
        yield from disagree(question, at[k], alone=alone, **{f"among {at.tolist()}": among})


def tolerance_narrows(spec: Spec, draw: Drawer) -> Iterator[str]:
    """An answer to a tolerance shares a point with the usual one, and is as narrow as required."""
    (question, at), tol = one_question(draw), draw.log_uniform(1e-9, 1e-2)
    try:
        narrow = answer_query(built(spec), question, at, tol=tol)
    except PrecisionError:
        return
    yield from disagree(
        question, at, usual=answer_query(built(spec), question, at), **{f"tol {tol!r}": narrow}
    )
    if question == "epsilon" and narrow.width > tol:
        yield f"{question}({at!r}): tol {tol!r} is exceeded by {narrow}"


def history_is_forgotten(spec: Spec, draw: Drawer) -> Iterator[str]:
    """An answer does not depend on earlier questions, to the bit."""
    used, fresh, (question, at) = built(spec), built(spec), one_question(draw)
    before = [one_question(draw) for _ in range(2)]
    for earlier, where in before:
        answer_query(used, earlier, where)
    late, early = answer_query(used, question, at), answer_query(fresh, question, at)
    yield from disagree(question, at, fresh=early, **{f"after {before}": late})
    if late != early:
        yield f"{question}({at!r}): fresh {early}, after {before} {late}"


def range_is_covered(spec: Spec, _: Drawer) -> Iterator[str]:
    """``sup_loss`` of both orders covers the law."""
    try:
        check_range(built(spec))  # first by itself: the oracle may have no answer
        check_range(built(spec), spec)
    except TooMany:
        return
    except AssertionError as error:
        yield str(error)
    except NoClosedForm:
        return


def whole_curves_hold(spec: Spec, draw: Drawer) -> Iterator[str]:
    """``lower`` and ``upper`` have the answers of the curve between them."""
    f, alpha = built(spec), draw.alpha([])
    point, low, high = f.bounds(alpha), f.lower.bounds(alpha), f.upper.bounds(alpha)
    if low.lower > point.upper or high.upper < point.lower or low.lower > high.upper:
        yield f"f({alpha!r}): lower {low}, curve {point}, upper {high}"


def reductions_hold(spec: Spec, draw: Drawer) -> Iterator[str]:
    """The reduction's bounds are ordered, and the curve it reports lies below f."""
    f, failure = built(spec), draw.random.choice([1e-10, 1e-6, 0.0])
    result = f.gdp(failure=failure)
    if not (
        result.bounds.lower <= result.bounds.upper
        and result.regret_bounds.lower <= result.regret_bounds.upper
    ):
        yield f"gdp({failure!r}): {result}"
    alpha = draw.alpha([])
    if math.isfinite(result.mu) and result.curve.bounds(alpha).lower > f.bounds(alpha).upper:
        yield f"gdp({failure!r}).curve({alpha!r}) {result.curve.bounds(alpha)} above f {f.bounds(alpha)}"


def order_agrees(spec: Spec, draw: Drawer) -> Iterator[str]:
    """f >= f (x) g, and never the other way round with a number against it."""
    f, g = built(spec), built(draw.family())
    try:
        if not f >= f @ g:
            yield f"f >= f @ g is denied for g = {g!r}"
    except Undecided:
        return


def certificates_verify(spec: Spec, draw: Drawer) -> Iterator[str]:
    """Certificates verify, and share a point with the answer."""
    (question, at), f = one_question(draw), built(spec)
    try:
        made = to.certify(f, question, at)
    except to.errors.VerificationError as error:
        yield f"certify({question!r}, {at!r}) raised {error}"
        return
    except to.errors.TradeOffError:
        return
    try:
        to.verify(made)
    except to.errors.VerificationError as error:
        yield f"certify({question!r}, {at!r}) does not verify: {error}"
    answer = answer_query(f, question, at)
    yield from disagree(question, at, answered=answer, certified=to.Bounds(made.lower, made.upper))


def divergences_hold(spec: Spec, draw: Drawer) -> Iterator[str]:
    """D_a is that of the atoms where there is nothing else, rises with a, and adds."""
    f, orders = built(spec), sorted(draw.random.choice(ORDERS) for _ in range(2))
    result = [f.bounds.renyi(order) for order in orders]
    if result[0].lower > result[1].upper:
        yield f"renyi falls: {orders[0]!r} {result[0]}, {orders[1]!r} {result[1]}"
    yield from disagree("renyi", orders[0], of_product=(f @ f).bounds.renyi(orders[0]), twice=2 * result[0])
    for order, claim in zip(orders, result, strict=True):
        try:
            wrong = refuted(claim, spec.renyi(order)) if isinstance(spec, Atomic) else None
        except (TooMany, ArithmeticError, IndexError):
            return
        if wrong:
            yield f"bounds.renyi({order!r})  # {wrong}"


def files_keep(spec: Spec, draw: Drawer) -> Iterator[str]:
    """What a file holds is the curve, and gives its answers to the bit."""
    f, (question, at) = built(spec), one_question(draw)
    try:
        text = FILES.dumps(f)
    except to.errors.DomainError:
        return
    again = FILES.loads(text)
    if again != f or hash(again) != hash(f):
        yield f"{f!r} is read as {again!r}"
    if answer_query(f, question, at) != answer_query(again, question, at):
        both = f"{answer_query(f, question, at)}, of the file {answer_query(again, question, at)}"
        yield f"{question}({at!r}): {both}"


def plans_compose(spec: Spec, draw: Drawer) -> Iterator[str]:
    """A plan of a symmetric curve, n times, is its n-th power; of another one no more private."""
    f, n, (question, at) = built(spec), draw.random.randint(1, 3), one_question(draw)
    plan = to.Plan({to.mechanisms.Custom(f): n}).guarantee()
    whole, power = answer_query(plan, question, at), answer_query(f**n, question, at)
    wrong = whole.lower > power.upper if question == "beta" else whole.upper < power.lower
    if wrong or (f.symmetric and not overlap(whole, power)):
        yield f"{question}({at!r}): plan {whole}, {f!r} ** {n} {power}"


ORDERS = (1e-6, 0.5, 0.9, 1 - 2.0**-53, 1, 1 + 2.0**-52, 1.001, 1.5, 2, 3.7, 32, 256, 1e6, math.inf)
"""Orders of divergences: both sides of 1, and both ends."""


RELATIONS: dict[Relation, int] = {
    engines_meet: 12,
    factors_commute: 4,
    powers_split: 4,
    profile_turns: 5,
    twice_is_nothing: 2,
    answers_fall: 5,
    more_is_less_private: 2,
    dual_holds: 5,
    epsilon_inverts: 5,
    arrays_are_scalars: 3,
    tolerance_narrows: 4,
    history_is_forgotten: 5,
    range_is_covered: 12,
    whole_curves_hold: 1,
    reductions_hold: 1,
    order_agrees: 1,
    certificates_verify: 3,
    divergences_hold: 6,
    files_keep: 4,
    plans_compose: 2,
}
"""How often each is drawn: the slow ones seldom."""
