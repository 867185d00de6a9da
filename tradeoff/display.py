"""Text, HTML and LaTeX tables, rounded numbers, and escaped text."""

from __future__ import annotations

import math
import re
import unicodedata
from abc import abstractmethod
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape
from itertools import zip_longest
from typing import Literal, NamedTuple

_LETTERS = {each: unicodedata.name(each).split()[-1].lower() for each in "αβγδημρσ"}
_SIGNS = {"ε": "varepsilon", "∞": "infty", "⊗": "otimes", "≥": "ge", "≤": "le", "×": "times"}
_WORDS = {**{each: each for each in _LETTERS.values()}, "epsilon": "varepsilon", "inf": "infty"}


class Strong(str):
    """A cell that is bold in HTML: the number to report."""

    __slots__ = ()


class TextTable(NamedTuple):
    """Rows of texts under column names, with a title above and notes below.

    ``sides`` has one character a column, ``"<"`` or ``">"``, for its alignment; default: all left. A column
    name may have several lines.
    """

    rows: Sequence[Sequence[str]]
    columns: Sequence[str] = ()
    head: str = ""
    notes: Sequence[str] = ()
    sides: str = ""

    def text(self) -> str:
        return "\n".join([*([self.head] if self.head else []), *self._lines(), *self.notes])

    @property
    def width(self) -> int:
        """The number of characters of the longest line of the table."""
        return max(map(len, self._lines()), default=0)

    def _lines(self) -> list[str]:
        """Return column names and rows, aligned."""
        names = zip_longest(*(name.split("\n") for name in self.columns), fillvalue="")
        lines = [*names, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(self._sides, widths, strict=True))
        return [form.format(*line).rstrip() for line in lines]

    def html(self) -> str:
        """Return HTML: cells name their column in ``data-name``, rows with "!" have the class ``under``."""
        align = [{"<": "left", ">": "right"}[side] for side in self._sides]
        names = self.columns or [""] * len(align)

        def line(tag: str, cells: Sequence[str]) -> str:
            result = ""
            for name, side, cell in zip(names, align, cells, strict=True):
                text = f"<strong>{escape(cell)}</strong>" if isinstance(cell, Strong) else escape(cell)
                label = f" data-name='{escape(name)}'" if tag == "td" and name else ""
                result += f"<{tag}{label} style=text-align:{side}>{text}</{tag}>"
            under = " class=under" if any(cell.endswith("!") for cell in cells) else ""
            return f"<tr{under}>{result}</tr>"

        style = "white-space:nowrap;text-align:left"
        head = f'<caption style="{style}">{escape(self.head)}</caption>' if self.head else ""
        columns = f"<thead>{line('th', self.columns)}</thead>" if self.columns else ""
        body = "".join(line("td", row) for row in self.rows)
        notes = "".join(f"<div>{escape(note)}</div>" for note in self.notes)
        return f"<div><table>{head}{columns}<tbody>{body}</tbody></table>{notes}</div>"

    def latex(self, caption: str | None = None, label: str | None = None) -> str:
        r"""Return a LaTeX table for booktabs, notes as comments; symbols and powers of ten are typeset.

        With a caption or a label it is in a ``table`` environment.

        >>> print(TextTable([("-1e-05",)], ("epsilon",)).latex())
        \begin{tabular}{l}
        \toprule
        $\varepsilon$ \\
        \midrule
        $-10^{-5}$ \\
        \bottomrule
        \end{tabular}
        """
        head, *body = [" & ".join(map(_latex, line)) + r" \\" for line in [self.columns, *self.rows]]
        begin = rf"\begin{{tabular}}{{{self._sides.replace('<', 'l').replace('>', 'r')}}}"
        notes = (f"% {' '.join(note.split())}" for note in self.notes)
        lines = [*notes, begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        if caption is not None or label is not None:
            words = [rf"\caption{{{_latex(caption)}}}"] if caption is not None else []
            words += [rf"\label{{{label}}}"] if label is not None else []
            lines = [r"\begin{table}", r"\centering", *words, *lines, r"\end{table}"]
        return "\n".join(lines)

    @property
    def _sides(self) -> str:
        return self.sides or "<" * len(next(iter([*self.rows, self.columns])))


def _latex(text: str) -> str:
    """Typeset a cell: special characters escaped, names, signs and powers of ten as mathematics."""
    # 0.001 and 0.00023 are powers too, as in columns with 1e-05, but 0.0023 is not.
    small = r"(?<![\d.])0\.(?:001|000+[1-9]\d*)(?!\d)"
    text = re.sub(small, lambda match: f"{Decimal(match[0]):e}", " ".join(text.split("\n")))
    accents = [r"\textbackslash{}", r"\textasciicircum{}", r"\textasciitilde{}"]
    escapes = dict(zip("\\^~", accents, strict=True)) | {each: f"\\{each}" for each in "{}_$&#%"}
    text = "".join(escapes.get(each, each) for each in text)
    text = re.sub(r"^(?=\s*[\[*])", "{}", text)  # at the start of a row these would be its options
    names = _LETTERS | _SIGNS | _WORDS
    symbol = rf"\b(?:{'|'.join(_WORDS)})\b|[{''.join(_LETTERS | _SIGNS)}]"
    text = re.sub(symbol, lambda match: rf"$\{names[match[0]]}$", text)
    text = re.sub(r"([+-]?)(\d[\d.]*e[+-]\d+)", lambda match: f"${match[1]}{typeset_power(match[2])}$", text)
    # "$a$ = 5" becomes "$a = 5$".
    return re.sub(r"\$( ?= ?)\$", r"\1", re.sub(r"(\$ ?= ?)(\d[\d.]*)(?![\d.])", r"\1$\2$", text))


def typeset_power(number: str, times: str = r"\cdot") -> str:
    r"""Write a number such as 2e-06 as LaTeX, with a power of ten."""
    digits, _, power = number.lower().partition("e")
    if not power or int(power) == 0:
        return digits
    return ("" if digits == "1" else f"{digits} {times} ") + f"10^{{{int(power)}}}"


class Displayed:
    """Mixin for text and HTML table representation."""

    @abstractmethod
    def grid(self) -> TextTable:
        """Return the table that is shown."""

    def __repr__(self) -> str:
        return self.grid().text()

    def _repr_html_(self) -> str:
        return self.grid().html()


def rounded(value: float, side: Literal["lower", "upper"], digits: int = 10) -> str:
    """Format a bound, any float but NaN, with ``digits`` significant digits, rounded outward."""
    if math.isinf(value) or value == 0:
        return f"{value:g}"
    direction = ROUND_FLOOR if side == "lower" else ROUND_CEILING
    number = Context(prec=digits, rounding=direction).create_decimal(Decimal(value))
    if abs(value) >= 1e-4:
        return f"{number:g}"
    mantissa, _, power = f"{number:e}".partition("e")
    return f"{mantissa}e{int(power):+03d}"


def exactly(value: float) -> str:
    """Format a parameter so that it reads back as the same float."""
    return repr(float(value)).removesuffix(".0")


def plain(text: object) -> str:
    r"""Return text in one line, with control, bidirectional and other invisible characters as escapes."""
    return "".join(
        c if c.isprintable() or unicodedata.category(c) == "Zs" else c.encode("unicode_escape").decode()
        for c in str(text)
    )


def folded(text: str) -> str:
    """Join the lines of a text, and escape its invisible characters."""
    return plain(" ".join(text.split()))
