"""How a certificate says which laws it is about: by their parameters.

======================== ========================================== ======================================
kind                     parameters                                 law of L under P
======================== ========================================== ======================================
``gaussian``             ``mu``, or its ``square``: a quotient      normal laws mu apart
``gaussian mixtures``    ``means``, ``p``, ``q``: quotients         mixtures of unit normal laws whose
                                                                    ratio of weights increases
``laplace``              ``epsilon``                                Laplace laws epsilon apart
``response``, ``rounds`` ``epsilon``; of the second also ``rounds`` randomised response, once or counted
``discrete gaussian``    ``sigma``, ``shift``                       integer noise against its shift
``atoms``                ``loss``, ``log_p``, ``p_minus``,          losses written out, their masses and
                         ``q_plus``                                 those at minus and plus infinity
``masses``               ``p``, ``q``: fractions                    losses written out, by masses alone
``shift``                ``density``, ``theta``: a quotient; of     X against X + theta: ``logistic``,
                         ``gennorm`` also ``power``                 ``hypsecant``, ``gumbel``, ``gennorm``
``thinned``              ``p``, ``base``                            Poisson subsampling
``reversed``             ``base``                                   the other order of the pair
``mixed``                ``parts``: pairs of a weight and a law     a mixture whose label is published
======================== ========================================== ======================================

A factor is ``{"law": description, "count": rounds}``. Laws describe themselves (``LossLaw.description``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Description = dict[str, Any]


def turned(factors: Sequence[Description]) -> list[Description]:
    """Return the factors of the other order of the pair."""
    return [{**factor, "law": {"kind": "reversed", "base": factor["law"]}} for factor in factors]
