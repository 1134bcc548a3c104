# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG text. Every sample is a dot and the median a line, so that the
spread is seen and not summarised away."""
import io
from statistics import median

import matplotlib
from matplotlib.figure import Figure

from results import number

matplotlib.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "weir", "font.size": 10,
    "font.family": "sans-serif", "axes.spines.top": False,
    "axes.spines.right": False, "axes.axisbelow": True, "axes.grid": True,
    "grid.color": "#e4e4e4", "axes.edgecolor": "#888888",
})

# After Okabe and Ito, Color Universal Design: told apart by everybody.
COLOURS = {"shm": "#0072b2", "tcp": "#56b4e9", "sockets": "#e69f00",
           "mpi": "#d55e00", "mpi-tcp": "#cc79a7", "limit": "#7f7f7f",
           "chunked": "#a04000", "duckdb": "#e69f00", "iperf3": "#e69f00",
           "weir": "#0072b2", "radix": "#d55e00", "stream": "#56b4e9"}
MARKS = {"shm": "o", "tcp": "s", "sockets": "^", "mpi": "D", "mpi-tcp": "v",
         "limit": "x"}
WIDTH = 8.6  # inches


def svg(figure, label):
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    return text[text.index("<svg"):].replace(
        "<svg", f'<svg role="img" aria-label="{label}"', 1)


def canvas(height):
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def dots(label, rows, unit):
    """rows: (name, colour's key, samples)."""
    figure, axes = canvas(0.7 + 0.34 * len(rows))
    for y, (_, key, samples) in enumerate(rows):
        colour = COLOURS.get(key, "#444444")
        middle = median(samples)
        axes.plot(samples, [y] * len(samples), "o", color=colour, alpha=0.45,
                  markersize=6, markeredgewidth=0)
        axes.plot([middle, middle], [y - 0.32, y + 0.32], color=colour,
                  linewidth=2.5)
        axes.annotate(number(middle), (max(samples), y), xytext=(8, 0),
                      textcoords="offset points", va="center",
                      color="#333333")
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, max(max(row[2]) for row in rows) * 1.12)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(unit)
    return svg(figure, label)


def lines(label, ticks, series, unit, scale="linear"):
    """series: name to a list of figures, None where there is none."""
    figure, axes = canvas(3.6)
    for name, figures in series.items():
        points = [(x, f) for x, f in enumerate(figures) if f]
        if not points:
            continue
        middle = [f.median for _, f in points]
        low = [f.median - f.least for _, f in points]
        high = [f.most - f.median for _, f in points]
        axes.errorbar([x for x, _ in points], middle, yerr=[low, high],
                      color=COLOURS.get(name, "#444444"), capsize=3,
                      marker=MARKS.get(name, "o"), linewidth=1.6, label=name)
    axes.set_xticks(range(len(ticks)), ticks)
    axes.set_yscale(scale)
    if scale == "linear":
        axes.set_ylim(bottom=0)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel(unit)
    axes.legend(frameon=False, ncols=3)
    return svg(figure, label)


def ratios(label, rows, unit):
    """Bars from 1 on; below 1 is a loss. rows: (name, ratio)."""
    figure, axes = canvas(3.4)
    names, values = zip(*rows)
    colours = ["#0072b2" if value >= 1 else "#d55e00" for value in values]
    axes.bar(range(len(rows)), [value - 1 for value in values], bottom=1,
             color=colours, width=0.7)
    axes.axhline(1, color="#333333", linewidth=1)
    axes.set_yscale("log")
    marks = [m for m in (0.1, 0.2, 0.5, 1, 2, 5, 10)
             if min(values) / 2 <= m <= max(values) * 2]
    axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
    axes.set_yticks([], minor=True)
    axes.set_xticks(range(len(rows)), names)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel(unit)
    return svg(figure, label)
