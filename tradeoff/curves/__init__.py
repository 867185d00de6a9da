"""The contract of a curve, the symbolic product, bounds."""
