"""The certified contour: delta and its kin by a saddle-point integral, every error bounded."""
