"""Draw the gallery by the code on its page: ``python docs/gallery.py [FOLDER]``, always the same bytes."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[1]))

from tradeoff.report.styles import save

FOLDER = Path(__file__).with_name("_static") / "gallery"
_BLOCK = r"```python\n((?:(?!```)[\s\S])*)```\n\n!\[[^]]+\]\(_static/gallery/(.+)\.svg\)"
_PAGE = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
SETUP = re.search(r"```python\n([\s\S]*?)```", _PAGE)[1]  # type: ignore[index]  # the page has one
GALLERY = {name: code for code, name in re.findall(_BLOCK, _PAGE)}  # the code of each figure


def draw(name: str) -> Figure:
    """Run the first block of the page and that of a figure."""
    mpl.use("agg")
    from matplotlib import pyplot as plt

    plt.close("all")
    names: dict[str, Any] = {}
    exec(compile(SETUP + GALLERY[name], f"{name} in gallery.md", "exec"), names)  # noqa: S102 - our own page
    figure: Figure = names.get("fig") or plt.gcf()
    return figure


def main(folder: Path = FOLDER) -> None:
    """Write every figure into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in GALLERY:
        with mpl.rc_context():
            save(draw(name), folder / f"{name}.svg")


if __name__ == "__main__":
    main(*(Path(each) for each in sys.argv[1:]))
