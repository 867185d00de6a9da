"""Whether a figure can be read: no text over text, none cut off, both axes named."""

import itertools

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg


def texts(figure):
    """Bounding boxes of every visible text, in pixels of a drawn figure."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    axes = [axis for each in figure.axes for axis in (each.xaxis, each.yaxis)]
    ticks = [(axis, tick) for axis in axes for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())]
    outside = {
        id(label)
        for axis, tick in ticks
        for label in (tick.label1, tick.label2)
        if not _within(tick.get_loc(), axis.get_view_interval())
    }  # never drawn
    result = [
        each
        for each in figure.findobj(mpl.text.Text)
        if each.get_visible() and each.get_text().strip() and id(each) not in outside
    ]
    return {f"{i} {each.get_text()}": each.get_window_extent(renderer) for i, each in enumerate(result)}


def _within(value, interval):
    low, high = sorted(interval)
    return low - 1e-12 * abs(low) <= value <= high + 1e-12 * abs(high)


def overlap(one, two):
    return min(one.x1, two.x1) - max(one.x0, two.x0) > 0.5 and min(one.y1, two.y1) - max(one.y0, two.y0) > 0.5


def check_layout(figure):
    boxes = texts(figure)
    width, height = figure.canvas.get_width_height()
    for (a, one), (b, two) in itertools.combinations(boxes.items(), 2):
        assert not overlap(one, two), f"{a!r} and {b!r} overlap"
    for name, box in boxes.items():
        assert -1 <= box.x0 <= box.x1 <= width + 1, name
        assert -1 <= box.y0 <= box.y1 <= height + 1, name
    for axes in figure.axes:
        shared = [
            not axis.get_tick_params().get(f"label{side}", True)
            for axis, side in ((axes.xaxis, "bottom"), (axes.yaxis, "left"))
        ]
        assert axes.get_xlabel() or axes.get_label() == "<colorbar>" or shared[0]
        assert axes.get_ylabel() or shared[1]
    for legend in [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]:
        box = legend.get_window_extent()
        assert -1 <= box.x0 <= box.x1 <= width + 1
