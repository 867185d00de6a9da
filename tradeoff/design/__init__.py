"""Choosing parameters: what a guarantee gains with each, and how to share it out."""
