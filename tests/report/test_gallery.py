import re
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from scipy.spatial import cKDTree

from docs import gallery
from tests.report.layout import check_layout
from tradeoff.report.styles import save

REDRAW = "run python docs/figures.py"
CLOSE = 2.0  # points that a line may lie off: releases of matplotlib differ a little in layout


def read_texts(path):
    """Return the texts of a figure in order, which matplotlib writes as comments."""
    return re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def read_lines(path):
    """Return the vertices of every line and area of a figure, in points; glyphs of texts are left out."""
    root = ET.parse(path).getroot()
    for parent in [*root.iter()]:
        for child in [*parent]:
            if child.tag.endswith("defs") or child.get("id", "").startswith("text_"):
                parent.remove(child)
    shapes = [
        [float(x) for x in re.findall(r"-?[\d.]+", each.get("d"))] for each in root.iter() if each.get("d")
    ]
    return [np.reshape(shape, (-1, 2)) for shape in shapes if len(shape) % 2 == 0 and shape]


def measure_distance(one, two):
    """Return how far the points of one line are at most from another line, which is made dense."""
    steps = np.linspace(0, 1, 50)[:, None, None]
    dense = two[:-1] + steps * np.diff(two, axis=0) if len(two) > 1 else two
    return float(np.max(cKDTree(dense.reshape(-1, 2)).query(one)[0]))


@pytest.mark.slow
@pytest.mark.parametrize("name", gallery.GALLERY)
def test_committed_figures_are_what_the_page_draws(name, tmp_path):
    committed, drawn = gallery.FOLDER / f"{name}.svg", tmp_path / f"{name}.svg"
    with mpl.rc_context():
        figure = gallery.draw(name)
        save(figure, drawn)
        check_layout(figure)
    assert read_texts(committed) == read_texts(drawn), REDRAW
    old, new = read_lines(committed), read_lines(drawn)
    assert len(old) == len(new), REDRAW
    for one, two in zip(old, new, strict=True):
        assert measure_distance(one, two) < CLOSE, REDRAW
        assert measure_distance(two, one) < CLOSE, REDRAW


def test_every_figure_has_a_few_lines_of_public_code():
    assert len(gallery.GALLERY) == 19
    assert {each.stem for each in gallery.FOLDER.iterdir()} == set(gallery.GALLERY)
    for code in gallery.GALLERY.values():
        assert len(code.splitlines()) <= 12
        assert not re.search(r"tradeoff\.report|\b_\w", code)
