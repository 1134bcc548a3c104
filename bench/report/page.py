# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that needs no other."""
import json
from html import escape

from bars import AT_LEAST, bars
from results import number
from sections import sections

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; margin: 2rem auto;
       max-width: 56rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .3rem; }
p { margin: .3rem 0 .6rem; } .facts { color: #555; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; margin: .5rem 0; }
th, td { padding: .16rem .7rem; text-align: right; white-space: nowrap;
         border-bottom: 1px solid #e4e4e4; }
th:first-child, td:first-child { text-align: left; padding-left: 0;
                                 white-space: normal; }
.text td, .text th { text-align: left; vertical-align: top;
                     white-space: normal; }
th { color: #555; font-weight: 600; }
.holds { color: #005a8d; font-weight: 600; }
.loses { color: #b03a00; font-weight: 700; } .none { color: #777; }
svg { max-width: 100%; height: auto; display: block; margin: .4rem 0; }
details { margin: .3rem 0; } summary { cursor: pointer; color: #555; }
code, pre { font: .82rem/1.45 ui-monospace, monospace; }
pre { overflow-x: auto; background: #f6f6f6; padding: .6rem .8rem; }
"""


def table(name, header, rows, kind=""):
    """Cells that are (text, class) have that class."""
    def cell(value):
        text, style = value if isinstance(value, tuple) else (value, "")
        style = f' class="{style}"' if style else ""
        return f"<td{style}>{escape(text)}</td>"
    head = "".join(f"<th>{escape(text)}</th>" for text in header)
    body = "\n".join("<tr>" + "".join(cell(value) for value in row) + "</tr>"
                     for row in rows)
    return (f'<div class="wide"><table id="{name}" class="{kind}">'
            f"<thead><tr>{head}</tr></thead>\n"
            f"<tbody>{body}</tbody></table></div>")


def style_of(verdict):
    return {"LOSES": "loses", "not measured": "none"}.get(verdict, "holds")


def bar_row(bar):
    verdict = bar.verdict()
    sign = "≥" if bar.direction == AT_LEAST else "≤"
    aim = f"{sign} {bar.aim:g}" if bar.aim is not None else ""
    if bar.figure is None:
        figure, around = "", ""
    else:
        figure = number(bar.figure.median)
        around = f"{number(bar.figure.least)} to {number(bar.figure.most)}"
    return [bar.what, f"{sign} {bar.first:g}", aim, figure, around,
            (verdict, style_of(verdict))]


def verdicts(results):
    found = bars(results)
    said = [bar.verdict() for bar in found]
    lost = said.count("LOSES")
    none = said.count("not measured")
    words = (f"{len(found) - lost - none} hold, {lost} lose, {none} were not "
             "measured here. Figures are ratios of medians of one series, "
             "unless a unit is named; beside them the least and the most of "
             "its single rounds.")
    return (f"<h2>Verdicts</h2><p>{words}</p>" +
            table("verdicts", ["bar", "must be", "aim", "figure", "spread",
                               "verdict"], [bar_row(bar) for bar in found]))


def flat(value):
    if isinstance(value, dict):
        return "; ".join(f"{key} {flat(one)}" for key, one in value.items()
                         if one != "")
    if isinstance(value, list):
        return ", ".join(flat(one) for one in value)
    return str(value)


def machine(report):
    m, before, after = (report[key] for key in
                        ("machine", "before", "after"))
    rows = [[key.replace("_", " "), flat(value)] for key, value in m.items()]
    rows += [["instructions", report["level"]],
             ["load before", flat(before["load"])],
             ["load after", flat(after["load"])],
             ["duration", f"{report['seconds']:.0f} s"],
             ["stolen by the hypervisor",
              f"{after['steal_s'] - before['steal_s']:.1f} core-seconds"]]
    return "<h2>Machine</h2>" + table("machine", ["", ""], rows, "text")


def failures(report):
    rows = [[suite["what"], suite["error"]]
            for suite in report["suites"].values() if suite["error"]]
    if not rows:
        return ""
    return ("<h2>Failed</h2><p>These gave no answer, or a wrong one.</p>" +
            table("failed", ["suite", "what it said"], rows, "text"))


def repeat(report):
    rows = [[suite["what"], suite["shown"], str(len(suite["runs"]))]
            for suite in report["suites"].values()]
    return (
        "<h2>How to repeat it</h2>"
        "<p>On Debian 12, from the sources at the commit above; it installs "
        "its opponents and takes half an hour on two cores:</p>"
        "<pre>make bench</pre><p>Rows and sums are checked in every run, and "
        "a run that is wrong is a failure. Commands below that ran several "
        "times were interleaved, all of them in turn. "
        "<code>bench/README.md</code> says what is timed.</p>"
        "<details><summary>Commands</summary>" +
        table("commands", ["what", "command", "runs"], rows, "text") +
        "</details>")


def raw(report):
    text = json.dumps(report, indent=1)
    return ("<details><summary>Raw results (JSON)</summary>"
            f'<pre id="raw">{escape(text)}</pre></details>')


def section_html(section):
    """Beside a plot, a long table is folded."""
    figures = table(section.name, section.header, section.rows)
    if section.plot and len(section.rows) > 8:
        figures = f"<details><summary>Figures</summary>{figures}</details>"
    return (f"<h2>{escape(section.title)}</h2><p>{escape(section.words)}</p>"
            + section.plot + figures)


def page(results):
    report = results.report
    m = report["machine"]
    short = (f"{m['processor'].get('model', '')}, {m['cores']} cores, "
             f"instructions: {report['level']} · {m['date']} · "
             f"commit {m['commit'][:12]}")
    if report["quick"]:
        short += " · quick: figures of a test, which say nothing"
    parts = ["<!doctype html>", '<html lang="en"><head><meta charset="utf-8">',
             '<meta name="viewport" content="width=device-width">',
             f"<title>Weir: measured</title><style>{STYLE}</style></head>",
             f'<body><h1>Weir, measured</h1><p class="facts">'
             f"{escape(short)}</p>", verdicts(results), failures(report),
             *[section_html(section) for section in sections(results)],
             machine(report), repeat(report), raw(report), "</body></html>"]
    return "\n".join(parts) + "\n"
