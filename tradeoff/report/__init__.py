"""Ways out: answers as data and text, and plots. Asks curves, and computes nothing of its own."""
