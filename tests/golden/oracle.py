"""Truth in 50 digits and more, by formulas that share nothing with the library: mpmath, fractions, a ball.

Floats are taken at their exact binary value. Every function raises its own working precision where terms
cancel. The normal distribution is the middle of a ball (Arb) as narrow as the digits at work: mpmath takes up
to a hundred times as long for it.
"""

from fractions import Fraction

import mpmath as mp
from flint import arb, ctx

DIGITS = 50


def exact(x):
    return mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.mpf(x)


def normal_cdf(x):
    assert mp.isfinite(x)
    sign, mantissa, exponent, _ = mp.mpf(x)._mpf_
    bits = mp.mp.prec + 20
    while True:
        with ctx.workprec(bits):
            result = (arb(((-1) ** sign * int(mantissa), exponent)) / -arb(2).sqrt()).erfc() / 2
        if result.rel_accuracy_bits() > mp.mp.prec:
            middle, power = result.mid().man_exp()
            return mp.ldexp(mp.mpf(int(middle)), int(power))
        bits *= 2


def normal_tail_quantile(alpha):
    """Return z with P(N(0,1) > z) = alpha."""
    alpha = exact(alpha)
    upper = mp.mpf(1) - alpha
    tail, sign = (alpha, 1) if alpha <= upper else (upper, -1)
    z = mp.sqrt(-2 * mp.log(2 * tail)) if tail < mp.mpf("0.4") else mp.mpf(0)
    for _ in range(200):
        step = (normal_cdf(-z) - tail) / mp.npdf(z)
        z += step if abs(step) < 1 else mp.sign(step)
        if abs(step) < mp.mpf(10) ** (-mp.mp.dps + 5):
            break
    return sign * z


def gaussian_beta(alpha, mu):
    with mp.workdps(DIGITS + 20):
        return normal_cdf(normal_tail_quantile(alpha) - exact(mu))


def gaussian_delta(epsilon, mu):
    mu, epsilon = exact(mu), exact(epsilon)
    with mp.workdps(DIGITS + 20 + 2 * int(abs(mp.log10(mu))) + int(abs(epsilon) / 2)):
        return normal_cdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


def laplace_beta(alpha, e0):
    alpha, e0 = exact(alpha), exact(e0)
    with mp.workdps(DIGITS + 20):
        if alpha < mp.exp(-e0) / 2:
            return 1 - mp.exp(e0) * alpha
        return mp.exp(-e0) / (4 * alpha) if alpha <= 0.5 else mp.exp(-e0) * (1 - alpha)


def laplace_power_delta(epsilon, e0, n):
    """Return delta of n Laplace curves for epsilon >= 0 by residues.

    delta = (1/2 pi i) int M(z)^n e^(-(z-1) eps)/(z(z-1)) dz right of 1, M(z) = [z e^((z-1) e0) + (z-1) e^(-z
    e0)]/(2z-1). Expand M^n; each term closes to the left (poles at 1/2, and at 1 for the last) or vanishes.
    """
    with mp.workdps(DIGITS + 30 + 2 * n):
        epsilon, e0, half = exact(epsilon), exact(e0), mp.mpf(1) / 2
        total = mp.mpf(0)
        for j in range(1, n + 1):
            rate = (2 * j - n) * e0 - epsilon
            if rate <= 0:
                continue
            # Taylor coefficients at 1/2 of z^(j-1) (z-1)^(n-j-1) e^(rate z), up to order n-1.
            first = [
                mp.binomial(j - 1, i) * half ** (j - 1 - i) if i <= j - 1 else mp.mpf(0) for i in range(n)
            ]
            power = n - j - 1
            second = [
                mp.binomial(power, i) * (-half) ** (power - i) if power < 0 or i <= power else mp.mpf(0)
                for i in range(n)
            ]
            third = [mp.exp(rate / 2) * rate**i / mp.factorial(i) for i in range(n)]
            both = [mp.fsum(first[i] * second[k - i] for i in range(k + 1)) for k in range(n)]
            residue = mp.fsum(both[i] * third[n - 1 - i] for i in range(n)) / mp.mpf(2) ** n
            if j == n:
                residue += mp.exp(rate)
            total += mp.binomial(n, j) * mp.exp(epsilon - j * e0) * residue
        return total


Atoms = list[tuple[mp.mpf, mp.mpf]]
"""(loss, P-mass) of the finite part; Q-mass is e^loss times that."""


def delta_of_atoms(atoms, epsilon, mass_at_plus_infinity=0):
    with mp.workdps(DIGITS + 40):
        epsilon = exact(epsilon)
        return mp.fsum(p * (mp.exp(loss) - mp.exp(epsilon)) for loss, p in atoms if loss > epsilon) + exact(
            mass_at_plus_infinity
        )


def beta_of_atoms(atoms, alpha):
    """Return 1 - (greatest Q-mass of a test of P-mass alpha), for mass_at_plus_infinity = 0.

    Kept as a sum of what is not rejected.
    """
    with mp.workdps(DIGITS + 40):
        left, beta = exact(alpha), mp.mpf(0)
        for loss, p in sorted(atoms, reverse=True):
            taken = min(p, left)
            left -= taken
            beta += (p - taken) * mp.exp(loss)
        return beta


def pure_dp_power(e0, n):
    """Atoms of n rounds of f_{e0,0}: losses (2k - n) e0, binomial masses (Kairouz, Oh, Viswanath 2015)."""
    with mp.workdps(DIGITS + 40):
        e0 = exact(e0)
        p, q = 1 / (1 + mp.exp(e0)), 1 / (1 + mp.exp(-e0))
        return [((2 * k - n) * e0, mp.binomial(n, k) * p**k * q ** (n - k)) for k in range(n + 1)]


def product_of_atoms(factors):
    with mp.workdps(DIGITS + 40):
        result = [(mp.mpf(0), mp.mpf(1))]
        for factor in factors:
            result = [(a + b, p * q) for a, p in result for b, q in factor]
        return result


def subsampled_gaussian_delta(epsilon, mu, p, *, order):
    """One Poisson-subsampled Gaussian.

    "remove": P = N(0,1), Q = (1-p) N(0,1) + p N(mu,1); "add": the reverse.

    "remove" rejects above a threshold of x and "add" below it; both are written with the P- and Q-mass of
    that half-line.
    """
    with mp.workdps(DIGITS + 40 + int(abs(epsilon))):
        epsilon, mu, p = exact(epsilon), exact(mu), exact(p)
        sign = 1 if order == "remove" else -1
        ratio = (mp.exp(sign * epsilon) - 1 + p) / p
        if ratio <= 0:  # the threshold lies outside the support of the ratio
            return 1 - mp.exp(epsilon) if order == "remove" else mp.mpf(0)
        x = mp.log(ratio) / mu + mu / 2
        if order == "remove":  # reject above x
            base, shifted = normal_cdf(-x), normal_cdf(mu - x)
            return (1 - p) * base + p * shifted - mp.exp(epsilon) * base
        base, shifted = normal_cdf(x), normal_cdf(x - mu)
        return base - mp.exp(epsilon) * ((1 - p) * base + p * shifted)
