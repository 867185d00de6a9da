"""Random questions of random curves, against balls and one another: ``python -m tests.fuzz --help``."""
