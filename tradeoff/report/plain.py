"""Text of others that steers no terminal and breaks no figure."""

from __future__ import annotations

import unicodedata


def plain(text: object) -> str:
    r"""Return text in one line, with control, bidirectional and other invisible characters as escapes.

    Examples
    --------
    >>> print(plain("\x1b]0;owned\x07"))
    \x1b]0;owned\x07
    """
    return "".join(c if _is_visible(c) else c.encode("unicode_escape").decode() for c in str(text))


def folded(text: str) -> str:
    """Return text of several lines in one, likewise."""
    return plain(" ".join(text.split()))


def _is_visible(letter: str) -> bool:
    # A space may be one that breaks no line.
    return letter.isprintable() or unicodedata.category(letter) == "Zs"
