"""Arithmetic that rounds outward.

Numbers held from both sides go in and come out, and the truth stays inside.

Code that *combines* numbers is written in ``Bounds``; what counts its roundings by hand is a kernel, with its
derivation beside it. Sums and products rest on IEEE 754 alone, functions on the error of NumPy's, stated in
``functions``.
"""
