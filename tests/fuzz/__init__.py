"""Random curves, asked at random, against balls and against themselves: ``python -m tests.fuzz --help``."""
