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
    # A space may be one that breaks no line.
    seen = ((c, c.isprintable() or unicodedata.category(c) == "Zs") for c in str(text))
    return "".join(c if visible else c.encode("unicode_escape").decode() for c, visible in seen)


def folded(text: str) -> str:
    """Return text of several lines in one, likewise."""
    return plain(" ".join(text.split()))
