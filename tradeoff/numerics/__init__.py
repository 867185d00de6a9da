"""Arrays and floats: stable tails, quadrature, FFT with an error bound, safe roots."""
