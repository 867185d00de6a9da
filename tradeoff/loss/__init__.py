"""The privacy loss distribution: the law of L = log dQ/dP under P, as every engine reads it.

A law is one class (`law.LossLaw`): cells with excess and deficit, point masses, masses at infinity, a sketch
to plan by. Subsampling, reversal and mixing change a law, and are in one place (`changed`).
"""
