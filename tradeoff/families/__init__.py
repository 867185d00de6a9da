"""Curves with closed forms, one family a file."""
