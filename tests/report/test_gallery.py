"""Compare committed figures with the code of the page.

Two show means over many runs of a simulation: ``python -m tests.report.test_gallery`` writes all runs to
tests/golden/accuracy_first.json in a minute, and the test makes the first one of each again.
"""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from scipy.spatial import cKDTree

from docs import gallery
from examples import accuracy_first
from examples.relative_error import Outcome, relative_error
from tests.report.layout import check_layout
from tradeoff.report.styles import save

REDRAW = "run python docs/figures.py"
CLOSE = 2.0  # points that a line may lie off: releases of matplotlib differ a little in layout


RECORD_ANEW = "run python -m tests.report.test_gallery, and then python docs/figures.py"
RECORD = Path(__file__).parents[1] / "golden" / "accuracy_first.json"


def recorded(counts, *, runs, epsilon=1.0, order="public", **words):
    """Return the recorded outcomes of a simulation, of which the first run is made again."""
    first = relative_error(counts, runs=1, epsilon=epsilon, order=order, **words)
    record = json.loads(RECORD.read_text(encoding="utf-8"))[f"{order} {epsilon:g} {runs}"]
    result = {name: Outcome(**{key: tuple(each) for key, each in record[name].items()}) for name in first}
    for name, outcome in first.items():
        assert vars(outcome) == {key: each[:1] for key, each in vars(result[name]).items()}, RECORD_ANEW
        assert {len(each) for each in vars(result[name]).values()} == {runs}
    return result


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
@pytest.mark.skipif(mpl.__version_info__ < (3, 10), reason="texts, and so axes, have other sizes before")
@pytest.mark.parametrize("name", gallery.GALLERY)
def test_committed_figures_are_what_the_page_draws(name, tmp_path, monkeypatch):
    monkeypatch.setattr(accuracy_first, "relative_error", recorded)
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


def main():
    """Record every run of the simulations of the gallery."""
    record = {}

    def recording(counts, *, runs, epsilon=1.0, order="public", **words):
        result = relative_error(counts, runs=runs, epsilon=epsilon, order=order, **words)
        record[f"{order} {epsilon:g} {runs}"] = {name: vars(each) for name, each in result.items()}
        return result

    accuracy_first.relative_error = recording
    for name in ("accuracy-first-counts", "accuracy-first-sweep"):
        gallery.draw(name)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
    RECORD.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
