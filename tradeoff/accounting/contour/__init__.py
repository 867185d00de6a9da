"""Bounds on delta, epsilon and beta by contour integrals through saddle points, every error bounded."""
