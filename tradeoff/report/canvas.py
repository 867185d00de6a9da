"""Figures in the style of papers, where the user has not set matplotlib's settings."""

from __future__ import annotations

import io
from typing import Any

from matplotlib import rc_context, rcParams, rcParamsDefault
from matplotlib.figure import Figure

from tradeoff.report.styles import paper_settings


class PaperFigure(Figure):
    """A figure that is laid out and saved in the style of its creation: the user's settings, or ``paper``."""

    def __init__(self, *args: Any, paper: bool = False, **kwargs: Any) -> None:
        self.style = {k: v for k, v in paper_settings().items() if paper or rcParams[k] == rcParamsDefault[k]}
        with rc_context(self.style):
            super().__init__(*args, **kwargs)

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        with rc_context(self.style):
            return super().add_subplot(*args, **kwargs)

    def draw(self, renderer: Any) -> None:
        with rc_context(self.style):  # ticks are created while drawing
            super().draw(renderer)

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        with rc_context(self.style):
            is_square = any(each.get_aspect() == 1 or each.get_box_aspect() == 1 for each in self.axes)
            if is_square and (layout := self.get_layout_engine()) is not None:
                layout.execute(self)  # after a single layout a square lies off by three points
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        """Show the figure in a notebook without pyplot."""
        image = io.BytesIO()
        self.savefig(image, format="png", dpi=self.dpi)
        return image.getvalue()
