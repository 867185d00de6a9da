"""Truth in 50 digits and more, by residues, which share nothing with the library."""

from fractions import Fraction

import mpmath as mp

DIGITS = 50


def exact(x):
    return mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.mpf(x)


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
