"""Saddle-point bounds: a central limit theorem under the tilt, with its error proved."""
