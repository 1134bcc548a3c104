# SPDX-License-Identifier: Apache-2.0
"""The bars: what should hold, and what a report says about each.

`first` is what has to hold, `aim` what is hoped for. A bar holds if its median
does; the spread is shown beside it.
"""
from dataclasses import dataclass

from results import Figure, geometric_mean, spread

AT_LEAST, AT_MOST = ">=", "<="


@dataclass
class Bar:
    what: str
    direction: str
    first: float
    aim: float
    figure: Figure  # None: not measured

    def met(self, bound):
        value = self.figure.median
        return value >= bound if self.direction == AT_LEAST else value <= bound

    def verdict(self):
        if self.figure is None:
            return "not measured"
        if not self.met(self.first):
            return "LOSES"
        if self.aim is not None and self.met(self.aim):
            return "holds, aim too"
        return "holds"


def levels(results):
    """Those that were measured, best first."""
    return [name.split()[1] for name in results.names("8x1 ")
            if not name.endswith("chunked")]


def best_mpi(results, suite, under):
    """The better shape of Alltoallv against shm."""
    ratios = [results.ratio((name, "mpi"), (suite, under))
              for name in (suite, suite + " chunked")]
    return min((r for r in ratios if r), key=lambda r: r.median, default=None)


def mpi_bars(r):
    for level in levels(r):
        wide = level not in ("portable", "avx2")
        yield Bar(f"best Open MPI Alltoallv / shm, 8 x 1, {level}", AT_LEAST,
                  1.9 if wide else 1.3, 2.3 if wide else 1.8,
                  best_mpi(r, f"8x1 {level}", "shm"))
    for level in levels(r):
        suite = f"8x1 {level}"
        yield Bar(f"Open MPI over tcp / tcp, 8 x 1, {level}", AT_LEAST, 1.0,
                  1.3, r.ratio((suite, "mpi-tcp"), (suite, "tcp")))


def socket_bars(r):
    for level in levels(r):
        suite = f"8x1 {level}"
        yield Bar(f"plain sockets / tcp, 8 x 1, {level}", AT_LEAST, 1.1, 1.5,
                  r.ratio((suite, "sockets"), (suite, "tcp")))
    for shape in ("2x2", "4x4", "32x1"):
        suite = f"shape {shape}"
        yield Bar(f"plain sockets / tcp, {shape.replace('x', ' x ')}",
                  AT_LEAST, 1.1, 1.5,
                  r.ratio((suite, "sockets"), (suite, "tcp")))
    yield Bar("one pair over tcp: iperf3 / Weir", AT_MOST, 1.25, 1.05,
              r.value_ratio("iperf3", "stream", "mb_per_s"))


def shape_bars(r):
    for opponent, first, aim in [("shm", 1.35, 1.2), ("tcp", 1.6, 1.3)]:
        yield Bar(f"growth from 2 x 1 to 32 x 1, {opponent}", AT_MOST, first,
                  aim, r.ratio(("shape 32x1", opponent),
                               ("shape 2x1", opponent)))


def limit_bars(r):
    measured = levels(r)
    if "avx2" in measured[1:]:
        yield Bar(f"limit at avx2 / limit at {measured[0]}", AT_MOST, 2.0, 1.5,
                  r.ratio(("8x1 avx2", "limit"),
                          (f"8x1 {measured[0]}", "limit")))
    for level in measured:
        suite = f"8x1 {level}"
        yield Bar(f"shm / limit, 8 x 1, {level}", AT_MOST, 1.6, 1.35,
                  r.ratio((suite, "shm"), (suite, "limit")))


def row_bars(r):
    for row in ("mixed", "wide"):
        for suite in r.names(row + " "):
            if not suite.endswith("chunked"):
                yield Bar(f"{row} rows: best Open MPI / shm, "
                          + suite.split()[1], AT_LEAST, 1.3, 2.0,
                          best_mpi(r, suite, "shm"))


def get_bars(r):
    """UCX's time by ours: at most twice its time is 0.5 of it at least."""
    for transport, size, name, first, aim in [
            ("shm", 8, "ucx", 0.5, 1.0), ("shm", 65536, "ucx", 0.83, 1.0),
            ("tcp", 8, "ucx", 0.83, None), ("tcp", 65536, "ucx", 1.0, None),
            ("tcp", 8, "tags", 0.83, None), ("tcp", 65536, "tags", 1.0, None)]:
        opponent = "ucp_get" if name == "ucx" else "two messages of UCX"
        yield Bar(f"get of {size} B over {transport}: {opponent} / Weir",
                  AT_LEAST, first, aim, r.get_ratio(transport, size, name))


def fan_bars(r):
    points = {p["destinations"]: p for p in r.fan("partition narrow")}
    for destinations in (256, 1024):
        p = points.get(destinations)
        figure = None
        if p:
            weir, radix = p["weir_ns_per_row"], p["radix_ns_per_row"]
            figure = Figure(weir["median"] / radix["median"],
                            weir["min"] / radix["max"],
                            weir["max"] / radix["min"],
                            r.runs("partition narrow")[0]["repeat"])
        yield Bar(f"{destinations} destinations: Weir / radix partition",
                  AT_MOST, 1.5, 1.1, figure)


def setup_bars(r):
    for key, what, first, aim in [
            ("warm", "query open to first row, warm", 0.3, 0.05),
            ("cold", "from process start to first row", 2.0, 0.5)]:
        figure = None
        for run in r.runs("setup")[:1]:
            figure = Figure(run[f"{key}_s"], run[f"{key}_min_s"],
                            run[f"{key}_max_s"], run["repeat"])
        name = r.suite("setup")["what"] if r.suite("setup") else "set-up"
        yield Bar(f"{name}: {what}, seconds", AT_MOST, first, aim, figure)


def stop_bars(r):
    for name in r.names("limit "):
        yield Bar(r.suite(name)["what"] + ", seconds", AT_MOST, 0.2, None,
                  spread(r.values(name, "seconds")))


def query_bars(r):
    ratios = r.tpch_ratios()
    mean = worst = None
    if ratios:
        mean = Figure(geometric_mean(ratios), min(ratios), max(ratios),
                      len(ratios))
        worst = Figure(min(ratios), min(ratios), min(ratios), 1)
    yield Bar("DuckDB / Weir, 22 of TPC-H, geometric mean", AT_LEAST, 1.0, 1.5,
              mean)
    yield Bar("DuckDB / Weir, 22 of TPC-H, worst", AT_LEAST, 0.5, 0.8, worst)
    for plan, first in [("join", 1.5), ("aggregation", 1.3)]:
        yield Bar(f"sockets / Weir, the paper's {plan}, 8 nodes", AT_LEAST,
                  first, 2.0, r.query_ratio(f"{plan} 8", "sockets"))


def filter_bars(r):
    for transport in ("shm", "tcp"):
        yield Bar("the paper's join with filters / without, 8 nodes, "
                  + transport, AT_MOST, 0.8, 0.6,
                  r.ratio(("filters with", transport),
                          ("filters without", transport), "median_s"))


def bars(results):
    groups = [mpi_bars, socket_bars, shape_bars, limit_bars, row_bars,
              get_bars, fan_bars, setup_bars, stop_bars, query_bars,
              filter_bars]
    return [bar for group in groups for bar in group(results)]
