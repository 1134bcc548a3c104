# SPDX-License-Identifier: Apache-2.0
"""What is run: a table of commands, each of which prints one JSON object.

Suites with `rounds` run once per round, all of them in turn (A B C A B C), and
each of their runs is a sample. Those without have long set-ups: they run once,
and repeat inside.
"""
import json
import re
from dataclasses import dataclass, field

LEVELS = ["portable", "avx2", "avx512", "vbmi2", "gather"]
SHAPES = [(2, 1), (2, 2), (2, 8), (4, 4), (16, 1), (32, 1)]  # beside 8 x 1
TOTAL_ROWS = 40_000_000
ROWS = {"narrow": 5_000_000, "mixed": 1_000_000, "wide": 500_000}


@dataclass
class Suite:
    name: str
    what: str  # for people
    command: list  # after `weir`; or a function that returns the object
    env: dict = field(default_factory=dict)
    rounds: bool = True
    input: str = None  # of the command: its standard input

    def shown(self):
        """The command as one types it."""
        words = [f"{key}={value}" for key, value in self.env.items()]
        return " ".join(words + ["weir"] + self.command)


@dataclass
class Machine:
    """What suites depend on."""
    kinds: list  # of weir bench
    options: dict  # the help of each kind
    level: str  # the best one
    duckdb: str = None
    tpch: str = None
    mpi: bool = True
    ucx: bool = True
    quick: bool = False

    def levels(self):
        """This machine's, the best first."""
        have = LEVELS[:LEVELS.index(self.level) + 1][::-1]
        return have[::max(len(have) - 1, 1)] if self.quick else have

    def rows(self, rows):
        return max(rows // 200, 1000) if self.quick else rows

    def opponents(self, *names):
        """Of two-stage, those that can run."""
        known = self.options["two-stage"]
        return [name for name in names
                if re.search(rf"\b{name}\b", known)
                and (self.mpi or not name.startswith("mpi"))]


def two_stage(machine, name, what, shape=(8, 1), opponents=(), rows=None,
              row="narrow", env=None, more=()):
    nodes, workers = shape
    command = ["bench", "two-stage", "--nodes", str(nodes), "--workers",
               str(workers), "--row", row, "--rows",
               str(machine.rows(rows or ROWS[row])), "--transports",
               ",".join(machine.opponents(*opponents)), "--repeat", "1"]
    return Suite(name, what, command + list(more) + ["--json"], env or {})


ALL = ("shm", "tcp", "sockets", "mpi", "mpi-tcp")


def level_env(machine, level):
    return {} if level == machine.level else {"WEIR_ISA": level}


def level_suites(machine):
    for level in machine.levels():
        env = level_env(machine, level)
        yield two_stage(machine, f"8x1 {level}",
                        f"8 nodes, int64 rows, instructions: {level}",
                        opponents=ALL, env=env, more=["--limit"])
        if not machine.mpi:
            continue
        yield two_stage(machine, f"8x1 {level} chunked",
                        f"the same, Alltoallv in chunks: {level}",
                        opponents=["mpi"], env=env,
                        more=["--mpi-shape", "chunked"])


def shape_suites(machine):
    for nodes, workers in SHAPES[:2] if machine.quick else SHAPES:
        yield two_stage(machine, f"shape {nodes}x{workers}",
                        f"{nodes} nodes x {workers} workers, int64 rows",
                        shape=(nodes, workers), opponents=ALL,
                        rows=TOTAL_ROWS // nodes)


def row_suites(machine):
    levels = [level for level in machine.levels()
              if level in ("avx2", machine.level)]
    for row in ("mixed", "wide"):
        for level in levels:
            env = level_env(machine, level)
            yield two_stage(machine, f"{row} {level}",
                            f"8 nodes, {row} rows, instructions: {level}",
                            opponents=ALL[:4], row=row, env=env,
                            more=["--limit"])
            if machine.quick or not machine.mpi:
                continue
            yield two_stage(machine, f"{row} {level} chunked",
                            f"the same, Alltoallv in chunks: {level}",
                            opponents=["mpi"], row=row, env=env,
                            more=["--mpi-shape", "chunked"])


def pair_suites(machine):
    blocks = "2" if machine.quick else "40"
    mib = "16" if machine.quick else "2048"
    yield Suite("latency", "one row, against a bare cache line",
                ["bench", "latency", "--blocks", blocks, "--json"])
    yield Suite("stream", "one pair over tcp", ["bench", "stream",
                "--transport", "tcp", "--mib", mib, "--json"])
    yield Suite("iperf3", "iperf3 over loopback, as many bytes",
                ["iperf3", mib])


def get_suites(machine):
    if "get" not in machine.kinds:
        return
    runs = ["--repeat", "1", "--ms", "1"] if machine.quick else []
    for transport in ("shm", "tcp"):
        yield Suite(f"get {transport}", f"reading a region over {transport}",
                    ["bench", "get", "-t", transport, "--json"] + runs,
                    rounds=False)
    if machine.ucx and not machine.quick:
        yield Suite("get ucx", "the same bytes again and again, and UCX",
                    ["get-ucx", "--rounds", "7", "--json"], rounds=False)


def fan_suites(machine):
    if "partition" not in machine.kinds:
        return
    destinations = "64" if machine.quick else "64,256,1024,4096"
    for row in ["narrow"] if machine.quick else ["narrow", "mixed"]:
        command = ["bench", "partition", "--destinations", destinations,
                   "--row", row, "--json"]
        if machine.quick:
            command += ["--rows", "100000", "--repeat", "1"]
        yield Suite(f"partition {row}",
                    f"one writer, many destinations, {row} rows", command,
                    rounds=False)


def setup_suites(machine):
    if "setup" in machine.kinds:
        size = ["4", "2"] if machine.quick else ["60", "7"]
        yield Suite("setup", f"{size[0]} shuffles on {size[1]} nodes",
                    ["bench", "setup", "--shuffles", size[0], "--nodes",
                     size[1], "--workers", "2", "--json"], rounds=False)


def limit_plan(filtered):
    """LIMIT 10 over 10^12 computed rows; few pass the filter."""
    series = {"rows": 10 ** 12, "columns": [
        {"name": "i", "type": "int64", "kind": "sequence", "first": 0,
         "step": 1}]}
    operators = [{"name": "s", "op": "scan", "table": "t"}]
    if filtered:
        operators.append({"name": "f", "op": "filter", "input": "s",
                          "where": "i < 50"})
    operators += [{"name": "g", "op": "shuffle", "input": operators[-1]["name"],
                   "by": "gather"},
                  {"name": "l", "op": "limit", "input": "g", "rows": 10}]
    return json.dumps({"weir": 1, "tables": {"t": {"series": series}},
                       "operators": operators, "result": "l"})


def stop_suites(machine):
    for nodes in [1] if machine.quick else [1, 2, 7]:
        for filtered in [False, True]:
            name = f"limit {nodes}" + (" filtered" if filtered else "")
            yield Suite(name, "LIMIT 10 of 10^12 rows"
                        + (", filtered" if filtered else "")
                        + f", nodes: {nodes}",
                        ["run", "-", "--nodes", str(nodes), "--timeout", "10",
                         "--format", "csv"], input=limit_plan(filtered))


def query_suites(machine):
    repeat = ["--repeat", "1"] if machine.quick else ["--repeat", "5"]
    size = ["--warehouses", "1"] if machine.quick else []
    against = []
    if machine.duckdb:
        against = ["--against", "duckdb", "--python", machine.duckdb]
    for plan in ("join", "aggregation"):
        command = ["bench", "query", "--plan", plan] + repeat + size
        yield Suite(f"{plan} 2", f"{plan}, 2 nodes, DuckDB with 2 threads",
                    command + ["--nodes", "2"] + against + ["--json"],
                    rounds=False)
        nodes = "3" if machine.quick else "8"
        yield Suite(f"{plan} 8", f"{plan}, {nodes} nodes", command +
                    ["--nodes", nodes, "--transports", "shm,tcp,sockets",
                     "--json"], rounds=False)
    if machine.duckdb and machine.tpch:
        yield Suite("tpch", "the 22 queries of TPC-H, 2 nodes",
                    ["bench", "query", "--plan", "tpch", "--data",
                     machine.tpch, "--nodes", "2"] + repeat + against +
                    ["--json"], rounds=False)


def filter_suites(machine):
    """The triple join with and without filters that travel."""
    nodes, warehouses = ("3", "1") if machine.quick else ("8", "10")
    for name, more in [("with", []), ("without", ["--no-filters"])]:
        yield Suite(f"filters {name}", f"join, {nodes} nodes, {name} filters",
                    ["bench", "query", "--plan", "join", "--nodes", nodes,
                     "--warehouses", warehouses, "--transports", "shm,tcp",
                     "--repeat", "1"] + more + ["--json"])


def suites(machine):
    """All that this machine can run."""
    table = [level_suites, shape_suites, row_suites, pair_suites, get_suites,
             fan_suites, setup_suites, stop_suites, query_suites,
             filter_suites]
    return [suite for make in table for suite in make(machine)]
