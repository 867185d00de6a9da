"""The privacy loss distribution: the law of L = log dQ/dP under P, as every engine reads it.

One class (`law.PrivacyLossDistribution`) has cells with excess and deficit, point masses, masses at infinity
and points to plan by. Subsampling, reversal and mixing transform it (`transformed`).
"""
