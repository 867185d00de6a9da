"""What results print as: tables, digits that keep the numbers' promise, text that steers no terminal."""

from __future__ import annotations

import math
import re
import unicodedata
from abc import abstractmethod
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from typing import Literal, NamedTuple

_SIDES = {"<": "left", ">": "right"}
_LETTERS = str.maketrans("<>", "lr")
_SIGNS = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
_LETTER = {"epsilon": r"\varepsilon", "ε": r"\varepsilon", "μ": r"\mu", "⊗": r"\otimes", "≥": r"\ge"}
_GREEK = re.compile(r"\b(?:alpha|beta|delta|epsilon|mu)\b|[εμ⊗≥]")
_POWER = re.compile(r"([+-]?)(\d[\d.]*)e([+-]\d+)")


class TextTable(NamedTuple):
    """Texts in rows, below the names of the columns and a line in words, above lines of notes.

    ``sides`` has one letter a column, ``"<"`` or ``">"``, for where its texts stand; default: all left.

    Examples
    --------
    >>> print(TextTable([("mu", "1.25")], ("name", "value"), "one curve", sides="<>").text())
    one curve
    name  value
    mu     1.25
    """

    rows: Sequence[Sequence[str]]
    columns: Sequence[str] = ()
    head: str = ""
    notes: Sequence[str] = ()
    sides: str = ""

    def text(self) -> str:
        """Return aligned lines."""
        lines = [*([self.columns] if self.columns else []), *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(self._sides, widths, strict=True))
        table = [form.format(*line).rstrip() for line in lines]
        return "\n".join([*([self.head] if self.head else []), *table, *self.notes])

    def html(self) -> str:
        """Return a table of HTML."""
        style = "white-space:nowrap;text-align:left"
        head = f'<caption style="{style}">{escape(self.head)}</caption>' if self.head else ""
        columns = f"<thead>{self._row('th', self.columns)}</thead>" if self.columns else ""
        body = "".join(self._row("td", row) for row in self.rows)
        notes = "".join(f"<div>{escape(note)}</div>" for note in self.notes)
        return f"<div><table>{head}{columns}<tbody>{body}</tbody></table>{notes}</div>"

    def latex(self) -> str:
        r"""Return a tabular for booktabs, notes as comments; Greek names and powers of ten are typeset.

        >>> print(TextTable([("-1e-05",)], ("epsilon",)).latex())
        \begin{tabular}{l}
        \toprule
        $\varepsilon$ \\
        \midrule
        $-10^{-5}$ \\
        \bottomrule
        \end{tabular}
        """
        head, *body = [" & ".join(map(_typeset, line)) + r" \\" for line in [self.columns, *self.rows]]
        begin = rf"\begin{{tabular}}{{{self._sides.translate(_LETTERS)}}}"
        notes = (f"% {' '.join(note.split())}" for note in self.notes)
        lines = [*notes, begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        return "\n".join(lines)

    @property
    def _sides(self) -> str:
        return self.sides or "<" * len(next(iter([*self.rows, self.columns])))

    def _row(self, tag: str, cells: Sequence[str]) -> str:
        written = (
            f'<{tag} style="text-align:{_SIDES[side]}">{escape(cell)}</{tag}>'
            for cell, side in zip(cells, self._sides, strict=True)
        )
        return f"<tr>{''.join(written)}</tr>"


def _typeset(text: str) -> str:
    """Return a text as LaTeX writes it."""
    plain = re.sub(r"[\\{}_^$&#%~]", lambda sign: _SIGNS.get(sign[0], f"\\{sign[0]}"), text)
    plain = re.sub(r"^(?=\s*[\[*])", "{}", plain)  # after the end of a row these would be its options
    greek = _GREEK.sub(lambda name: f"${_LETTER.get(name[0], chr(92) + name[0])}$", plain)
    return _POWER.sub(_ten, greek)


def _ten(number: re.Match[str]) -> str:
    sign, digits, power = number.groups()
    times = "" if digits == "1" else rf"{digits} \cdot "
    return f"${sign}{times}10^{{{int(power)}}}$" if int(power) else f"${sign}{digits}$"


class Displayed:
    """What prints as a table, in a notebook as one of HTML: a subclass says which."""

    @abstractmethod
    def grid(self) -> TextTable:
        """Return what is printed."""

    def __repr__(self) -> str:
        return self.grid().text()

    def _repr_html_(self) -> str:
        return self.grid().html()


def rounded(value: float, side: Literal["lower", "upper"], digits: int = 10) -> str:
    """Write a bound, any float but NaN, with so many significant digits, rounded away from the truth.

    Examples
    --------
    >>> rounded(2 / 3, "lower", 4), rounded(2 / 3, "upper", 4)
    ('0.6666', '0.6667')
    """
    if math.isinf(value) or value == 0:
        return f"{value:g}"
    direction = ROUND_FLOOR if side == "lower" else ROUND_CEILING
    number = Context(prec=digits, rounding=direction).create_decimal(Decimal(value))
    if abs(value) >= 1e-4:
        return f"{number:g}"
    mantissa, _, power = f"{number:e}".partition("e")
    return f"{mantissa}e{int(power):+03d}"


def exactly(value: float) -> str:
    """Write what was asked so that it reads back as the same float: the bounds beside it are for no other.

    Examples
    --------
    >>> exactly(1.0), exactly(1e-5), exactly(1.000004)
    ('1', '1e-05', '1.000004')
    """
    return repr(float(value)).removesuffix(".0")


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
