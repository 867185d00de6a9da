"""Interval arithmetic that rounds outward.

Code that combines numbers is written in ``Bounds``: sums and products rest on IEEE 754 alone, functions on
the error of NumPy's, stated in ``functions``. Code that counts its roundings has the derivation next to it.
"""
