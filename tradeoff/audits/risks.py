"""The meaning of a curve: bounds on the success of attackers, in one table."""

from __future__ import annotations

import numpy as np

from tradeoff.curves.contract import TradeOff
from tradeoff.curves.parameters import Number, Numbers, flattened, number
from tradeoff.display import exactly
from tradeoff.intervals.bounds import Bounds
from tradeoff.intervals.functions import exp, log
from tradeoff.sweeps import Table


def risks(
    f: TradeOff,
    *,
    fpr: Number | Numbers = (0.001, 0.01, 0.1),
    baseline: Number | Numbers = (0.01, 0.1, 0.5),
    prior: Number = 0.5,
    recall: Number | Numbers = (0.1, 0.5),
    outcome: Number | Numbers = (1e-6, 1e-3),
) -> Table:
    r"""Bound the success of the best attackers with all other records, for any computing power.

    No attacker does better than the column upper (in the last row: errs less than lower); some reach the
    other side if f is the curve of a pair.

    Parameters
    ----------
    f : a curve; a one-order curve covers attacks in that order only, so use ``guarantee()`` of a plan
    fpr : false-positive rates in [0, 1] of attacks on membership
    baseline : probabilities in [0, 1] of success without the output: of the best blind guess of the target
    prior : probability in (0, 1) of membership, the alternative, for precision, posteriors and Bayes risk
    recall : true-positive rates in (0, 1]
    outcome : probabilities in (0, 1) of outcomes that are left out of a bound on the posterior

    Notes
    -----
    * True-positive rate: :math:`1 - f(a)`; advantage: :math:`\delta(0)`, the largest excess over the
      false-positive rate.
    * Success at baseline :math:`p`, for re-identification, attribute inference and reconstruction alike:
      :math:`1 - f(p)` (Kulynych, Gomez, Kaissis, Hayes, Balle, Calmon, Raisaro 2025, arXiv:2507.06969). If
      the target :math:`z` is guessed well with probability :math:`p_z` without its record, it is with
      :math:`1 - f(p_z)` at most, and the mean over :math:`z` is at most :math:`1 - f` at the mean of
      :math:`p_z`, as :math:`1 - f` is concave; a blind guess has a mean of at most :math:`p`.
    * Precision at recall :math:`r`: a false-positive rate below :math:`f^{-1}(1 - r)` does not reach it.
    * Posterior: odds grow by :math:`e^L`. :math:`P(L > x - \log(1 - s)) \le \delta(x)/s` for
      :math:`0 < s < 1`, as :math:`\delta(x)` is the mean of :math:`(1 - e^{x - L})_+`; and
      :math:`P(L > x) \ge \delta(x)`.

    Examples
    --------
    >>> import tradeoff as to
    >>> to.Gaussian(1).risks(fpr=0.01, baseline=0.1, recall=0.5, outcome=1e-3)
    risk                                          at                                     lower      upper
    true-positive rate                            false-positive rate 0.01           0.0923622  0.0923623
    multiplicative advantage, TPR / FPR           false-positive rate 0.01             9.23622    9.23623
    advantage, TPR - FPR                                                              0.382924   0.382925
    re-identification, inference, reconstruction  baseline 0.1                        0.389143   0.389144
    precision                                     recall 0.5, prior 0.5               0.759122   0.759123
    posterior                                     all outcomes but 0.001, prior 0.5   0.958459   0.979321
    error of the best test, Bayes risk            prior 0.5                           0.308537   0.308538
    """
    inverse = f.inverse().bounds
    share = Bounds.of(number("prior", prior, 0, 1, open_low=True, open_high=True))
    known = f"prior {exactly(float(prior))}"
    (alphas, _), (blind, _), (recalls, _), (rests, _) = (
        flattened(name, values, 0.0, 1.0)
        for name, values in (("fpr", fpr), ("baseline", baseline), ("recall", recall), ("outcome", outcome))
    )
    powers = [(f"false-positive rate {exactly(a)}", a, 1 - f.bounds(a)) for a in alphas.tolist()]
    rows: list[tuple[str, str, Bounds]] = [("true-positive rate", at, power) for at, _, power in powers]
    rows += [("multiplicative advantage, TPR / FPR", at, power / a) for at, a, power in powers if a > 0]
    rows.append(("advantage, TPR - FPR", "", f.bounds.delta(0.0)))
    success = "re-identification, inference, reconstruction"
    rows += [(success, f"baseline {exactly(p)}", 1 - f.bounds(p)) for p in blind.tolist()]
    for r in recalls.tolist():
        missed = 1 - Bounds.of(number("recall", r, 0, 1, open_low=True))
        least_fpr = Bounds(inverse(missed.upper).lower, inverse(missed.lower).upper)
        precision = 1 / (1 + (1 - share) * least_fpr / (share * r))
        rows.append(("precision", f"recall {exactly(r)}, {known}", precision))
    # Values of s in the bound on P(L > ...): any is valid.
    shares = Bounds.of(np.array([0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95]))
    for t in rests.tolist():
        rest = number("outcome", t, 0, 1, open_low=True, open_high=True)
        at_most = Bounds.of(f.bounds.epsilon((rest * shares).lower).upper) - log(1 - shares)
        low, high = float(f.bounds.epsilon(rest).lower), float(np.min(at_most.upper))
        if rest >= f.mass_at_infinity.upper:
            high = min(high, f.sup_loss)
        odds = (1 - share) / share * exp(-Bounds(low, max(low, high)))  # of absence, at the loss exceeded
        rows.append(("posterior", f"all outcomes but {exactly(rest)}, {known}", 1 / (1 + odds)))
    rows.append(("error of the best test, Bayes risk", known, inverse.bayes_risk(float(prior))))
    table = [(name, at, *map(float, bounds)) for name, at, bounds in rows]
    return Table(("risk", "at", "lower", "upper"), tuple(table), notes=f.caveats)
