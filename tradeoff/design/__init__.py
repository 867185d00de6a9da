"""Choosing parameters: which just meets a target, what a guarantee gains with each, how to share it out."""
