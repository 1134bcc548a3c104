# SPDX-License-Identifier: Apache-2.0
"""The page's sections: a heading, a plot, a table, each from the results.

What was not measured has no section; the verdicts say so.
"""
from dataclasses import dataclass, field

import plots
from results import Figure, geometric_mean, number, spread

CORE_NS = "core-ns per row and stage (less is better)"


@dataclass
class Section:
    name: str  # id of the table
    title: str
    words: str
    plot: str = ""
    header: list = field(default_factory=list)
    rows: list = field(default_factory=list)


def cells(figure):
    """Median, least, most, samples."""
    return [number(figure.median), number(figure.least), number(figure.most),
            str(figure.samples)]


FIGURES = ["median", "least", "most", "samples"]


def two_stage_rows(results, suites):
    """(label, opponent, samples) of some suites, the bare plan's first."""
    rows = []
    for suite, label in suites:
        for opponent in results.opponents(suite):
            samples = results.samples(suite, opponent, "core_ns_per_row_stage")
            chunked = suite.endswith("chunked")
            name = opponent + (" chunked" if chunked else "")
            rows.append((f"{name}{label}", "chunked" if chunked else opponent,
                         samples))
    return rows


def two_stage_section(results, name, title, words, suites):
    rows = two_stage_rows(results, suites)
    if not rows:
        return None
    return Section(name, title, words, plots.dots(title, rows, CORE_NS),
                   [""] + FIGURES,
                   [[label] + cells(spread(samples))
                    for label, _, samples in rows])


def level_sections(results):
    for level in [name[4:] for name in results.names("8x1 ")
                  if not name.endswith("chunked")]:
        suite = f"8x1 {level}"
        yield two_stage_section(
            results, f"two-stage-{level}",
            f"Two shuffles of int64 rows, instructions: {level}",
            "8 nodes x 1 worker; every row crosses twice. "
            "limit: the same loops without any exchange.",
            [(suite, ""), (suite + " chunked", "")])


def row_sections(results):
    kinds = {"mixed": "int64, int32, decimal128, text of 20 bytes, with nulls",
             "wide": "int64, text of 100 bytes, with nulls"}
    for row, columns in kinds.items():
        for name in results.names(row + " "):
            if name.endswith("chunked"):
                continue
            level = name.split()[1]
            yield two_stage_section(
                results, f"{row}-{level}",
                f"{row.capitalize()} rows, instructions: {level}",
                f"{columns}; 8 nodes x 1 worker. sockets and mpi send rows "
                "packed by hand, all of one size.",
                [(name, ""), (name + " chunked", "")])


def shape_order(name):
    nodes, workers = name.split()[-1].split("x")
    return int(nodes) * int(workers), int(nodes)


def shape_section(results):
    shapes = sorted(results.names("shape "), key=shape_order)
    if not shapes:
        return None
    names = []
    for shape in shapes:
        names += [n for n in results.opponents(shape) if n not in names]
    series = {n: [results.core_ns(shape, n) for shape in shapes]
              for n in names}
    rows = [[shape.split()[1].replace("x", " x "), n] + cells(figure)
            for i, shape in enumerate(shapes)
            for n, figures in series.items() if (figure := figures[i])]
    ticks = [shape.split()[1].replace("x", " x ") for shape in shapes]
    return Section("shapes", "Nodes x workers",
                   "The same rows in all, on more and more processes; all on "
                   "this machine's cores.",
                   plots.lines("Nodes x workers", ticks, series, CORE_NS),
                   ["nodes x workers", ""] + FIGURES, rows)


def stream_section(results):
    rows = [(label, key, results.values(suite, "mb_per_s"))
            for suite, label, key in [("stream", "Weir over tcp", "stream"),
                                      ("iperf3", "iperf3", "iperf3")]]
    rows = [row for row in rows if row[2]]
    if not rows:
        return None
    return Section("stream", "One pair over tcp",
                   "One sender, one receiver, over loopback.",
                   plots.dots("One pair over tcp", rows,
                              "MB/s (more is better)"), [""] + FIGURES,
                   [[label] + cells(spread(samples))
                    for label, _, samples in rows])


def latency_section(results):
    names = {"shm": "a row over shm", "cacheline": "a bare cache line"}
    rows = [(names.get(n, n), n, results.samples("latency", n, "p50_ns"))
            for n in results.opponents("latency")]
    if not rows:
        return None
    return Section("latency", "Latency of one row",
                   "Written in one process to readable in another, both "
                   "spinning. The bare line depends on where the host runs "
                   "both cores.",
                   plots.dots("Latency", rows, "ns, half a round trip "
                              "(less is better)"), [""] + FIGURES,
                   [[label] + cells(spread(samples))
                    for label, _, samples in rows])


def get_section(results):
    rows = [[transport, str(one["bytes"]), way, number(figures["mean_ns"]),
             number(figures["median_ns"]), number(figures["p99_ns"]),
             number(figures["mb_per_s"])]
            for transport in ("shm", "tcp")
            for one in results.gets(f"get {transport}")
            for way in ("lent", "copied")
            for figures in [one[way]]]
    if not rows:
        return None
    return Section("gets", "Reading a region of another process",
                   "One at a time: mean, median and 99th percentile in ns. "
                   "MB/s: 16 at a time. Offsets change from get to get; the "
                   "owner's program does nothing.", "",
                   ["over", "bytes", "", "mean", "median", "p99", "MB/s"],
                   rows)


def get_ucx_section(results):
    rows = [[one["transport"], str(one["bytes"]), name] +
            cells(spread([ns / 1e3 for ns in one[name]["mean_ns"]]))
            for one in results.gets("get ucx")
            for name in ("weir", "ucx", "tags") if name in one]
    if not rows:
        return None
    return Section("gets-ucx", "One get at a time, against UCX",
                   "Microseconds. ucx: test ucp_get of ucx_perftest, whose "
                   "owner looks after gets over tcp once in a millisecond. "
                   "tags: a message of 8 bytes there and one of the get's "
                   "size back, both ends spinning.", "",
                   ["over", "bytes", ""] + FIGURES, rows)


def fan_sections(results):
    for name in results.names("partition "):
        points = results.fan(name)
        if not points:
            continue
        repeat = results.runs(name)[0]["repeat"]
        series = {key: [Figure(p[f"{key}_ns_per_row"]["median"],
                               p[f"{key}_ns_per_row"]["min"],
                               p[f"{key}_ns_per_row"]["max"], repeat)
                        for p in points] for key in ("weir", "radix")}
        ticks = [str(p["destinations"]) for p in points]
        row = name.split()[1]
        yield Section(f"partition-{row}",
                      f"One writer, many destinations, {row} rows",
                      "Against a radix partition of the same rows in memory, "
                      "which sends nothing.",
                      plots.lines("Fan-out", ticks, series,
                                  "ns per row (less is better)", "log"),
                      ["destinations", ""] + FIGURES,
                      [[tick, key] + cells(figures[i])
                       for i, tick in enumerate(ticks)
                       for key, figures in series.items()])


def query_section(results):
    rows = []
    for name in (results.names("join ") + results.names("aggregation ")
                 + results.names("filters ")):
        for opponent in results.opponents(name):
            figure = results.query(name, opponent)
            rows.append([results.suite(name)["what"], opponent]
                        + cells(figure))
    if not rows:
        return None
    return Section("queries", "The paper's queries",
                   "Triple hash join and aggregation over tables of the "
                   "CH-benCHmark in memory, in seconds; all give the same "
                   "answer.", "", ["", ""] + FIGURES, rows)


def tpch_section(results):
    queries = results.tpch()
    if not queries:
        return None
    ratios = results.tpch_ratios()
    rows = [[name, number(shm["median_s"]), number(duckdb["median_s"]),
             number(ratio)] for (name, shm, duckdb), ratio
            in zip(queries, ratios)]
    rows.append(["geometric mean", "", "", number(geometric_mean(ratios))])
    return Section("tpch", "TPC-H, DuckDB / Weir",
                   "Scale 0.2, tables in memory; 2 nodes x 1 worker against 2 "
                   "threads. Above 1 Weir is faster, below 1 it loses.",
                   plots.ratios("TPC-H", list(zip([q[0] for q in queries],
                                                  ratios)),
                                "time of DuckDB / time of Weir"),
                   ["query", "Weir s", "DuckDB s", "DuckDB / Weir"], rows)


def seconds_section(results):
    rows = []
    for name in results.names("limit "):
        figure = spread(results.values(name, "seconds"))
        if figure:
            rows.append([results.suite(name)["what"]] + cells(figure))
    for run in results.runs("setup")[:1]:
        for key in ("warm", "cold"):
            figure = Figure(run[f"{key}_s"], run[f"{key}_min_s"],
                            run[f"{key}_max_s"], run["repeat"])
            rows.append([f"{results.suite('setup')['what']}, {key}"]
                        + cells(figure))
    if not rows:
        return None
    return Section("seconds", "Starting and stopping",
                   "Whole runs, in seconds, from the start of the first "
                   "process.", "", [""] + FIGURES, rows)


def sections(results):
    found = [*level_sections(results), shape_section(results),
             *row_sections(results), stream_section(results),
             latency_section(results), get_section(results),
             get_ucx_section(results), *fan_sections(results),
             tpch_section(results), query_section(results),
             seconds_section(results)]
    return [section for section in found if section]
