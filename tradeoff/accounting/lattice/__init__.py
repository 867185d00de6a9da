"""Composition on a lattice: place, discretise, convolve, tabulate; valid for every law."""
