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
