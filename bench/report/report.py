#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benches in turn and writes report.json and report.html.

    report.py --weir build/bench/weir [--duckdb PYTHON --tpch DIR]
              [--out DIR] [--only WORD ...] [--rounds N] [--quick]
    report.py --from report.json [--out DIR]

The second form makes the page again. It needs Debian's python3-matplotlib.
Exit status: 0 all was measured, 1 something failed (the page says what).
Bars that are missed are no failure: the page says LOSES.
"""
import argparse
import json
import re
import shutil
import sys
import time
from pathlib import Path

import machine
from bars import bars
from page import page
from results import Results
from running import Failed, finish, run_suite
from suites import Machine, suites

SOURCE = Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weir", default="build/bench/weir")
    parser.add_argument("--duckdb", help="an interpreter that has duckdb")
    parser.add_argument("--tpch", help="a folder with the tables of TPC-H")
    parser.add_argument("--out", default="build/bench-report")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", nargs="*", help="suites that begin so")
    parser.add_argument("--quick", action="store_true",
                        help="a test of this program: seconds, no meaning")
    parser.add_argument("--from", dest="made", help="a report.json")
    return parser.parse_args()


def help_of(weir, *words):
    return finish([weir, "bench", *words, "--help"])


def look(args):
    """What this build and this machine can do."""
    kinds = re.findall(r"^  weir bench ([a-z][\w-]+) ", help_of(args.weir),
                       re.M)
    probe = finish([args.weir, "bench", "two-stage", "--nodes", "1", "--rows",
                    "1000", "--repeat", "1", "--transports", "shm", "--json"])
    mpi = (Path(args.weir).resolve().parent / "alltoallv_mpi").exists()
    return Machine(kinds=kinds,
                   options={kind: help_of(args.weir, kind) for kind in kinds},
                   level=json.loads(probe)["instructions"],
                   duckdb=args.duckdb, tpch=args.tpch, quick=args.quick,
                   mpi=mpi and shutil.which("mpirun") is not None,
                   ucx=shutil.which("ucx_perftest") is not None)


def run_one(weir, suite, entry):
    begin = time.monotonic()
    try:
        entry["runs"].append(run_suite(weir, suite))
    except Failed as error:
        entry["error"] = str(error)
        print(f"FAILED: {suite.name}: {error}", file=sys.stderr)
    seconds = time.monotonic() - begin
    entry["seconds"] += seconds
    print(f"{seconds:6.1f} s  {suite.name}", file=sys.stderr, flush=True)


def run_all(weir, table, rounds):
    """In turn; what has failed once is not tried again."""
    entries = {suite.name: {"what": suite.what, "shown": suite.shown(),
                            "runs": [], "error": None, "seconds": 0.0}
               for suite in table}
    for r in range(rounds):
        for suite in table:
            entry = entries[suite.name]
            if (suite.rounds or r == 0) and entry["error"] is None:
                run_one(weir, suite, entry)
    return entries


def measure(args):
    able = look(args)
    table = [suite for suite in suites(able)
             if not args.only or suite.name.startswith(tuple(args.only))]
    facts = machine.facts(args.weir, SOURCE, args.duckdb)
    before = machine.state()
    begin = time.monotonic()
    entries = run_all(args.weir, table,
                      args.rounds or (2 if args.quick else 7))
    return {"weir_report": 1, "quick": args.quick, "level": able.level,
            "machine": facts, "before": before, "after": machine.state(),
            "seconds": time.monotonic() - begin, "suites": entries}


def print_bars(results):
    for bar in bars(results):
        figure = f"{bar.figure.median:10.3g}" if bar.figure else " " * 10
        print(f"{bar.what:58} {bar.direction} {bar.first:<5g}{figure}  "
              f"{bar.verdict()}")


def main():
    args = arguments()
    if args.made:
        report = json.loads(Path(args.made).read_text(encoding="utf-8"))
    else:
        report = measure(args)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.json").write_text(json.dumps(report, indent=1) + "\n",
                                     encoding="utf-8")
    results = Results(report)
    (out / "report.html").write_text(page(results), encoding="utf-8")
    print_bars(results)
    print(f"\n{out}/report.html, {out}/report.json")
    failed = [s for s in report["suites"].values() if s["error"]]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
