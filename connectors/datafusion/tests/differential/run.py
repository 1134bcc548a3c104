#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random SQL over random small tables: weir-sql with workers against the same
without, that is, plain DataFusion, and that against DuckDB.

    run.py --weir-sql PATH --seed N --statements N

writes tables of all types as Parquet, CSV, JSON and Arrow files, anew for each
round of statements, asks everybody, and compares rows. It prints every
difference that known.py does not list, with its seed and a statement made as
small as could be, and ends with status 1 if there was one.

    run.py --weir-sql PATH --seed N --round N --statement N

asks one again, and prints what each answers. --sql TEXT asks that instead, of
the round's tables. It needs the duckdb package, and nothing else.
"""
import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from contestants import DuckDb  # noqa: E402
from rounds import Judge, Round, Tally, run  # noqa: E402
from tree import DATAFUSION, Form, write  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--weir-sql", required=True, help="the command")
    add("--seed", default="1")
    add("--statements", type=int, default=300, help="in all")
    add("--per-round", type=int, default=100, help="statements over the same "
        "tables")
    add("--workers", default="2,4", help="numbers of workers to draw from")
    add("--exchange", default="weir", help="weir or grpc")
    add("--round", type=int, help="only this one")
    add("--statement", type=int, help="only this one, of --round")
    add("--sql", help="ask this, of the tables of --round")
    add("--no-duckdb", action="store_true")
    add("--no-weir", action="store_true", help="plain DataFusion against "
        "DuckDB alone")
    add("--tries", type=int, default=150, help="to make a statement smaller")
    add("--most", type=int, default=30, help="differences, then stop")
    add("--jobs", type=int, default=1, help="rounds at a time")
    add("--folder", help="for tables; it is kept")
    return parser.parse_args()


def open_round(args, number, folder):
    round = Round(args.seed, number, Path(folder) / f"round{number}")
    duckdb = DuckDb
    round.write_tables(args.weir_sql, duckdb)
    workers = [int(n) for n in args.workers.split(",")]
    contestants = round.contestants(args.weir_sql, workers, duckdb)
    round.check_types(contestants[1])
    if args.no_duckdb:
        contestants.pop()
    if args.no_weir:
        contestants.pop(0)
    else:
        round.check_spread(contestants[0])
    for it in contestants:
        if it.name.startswith("weir"):
            it.command += ["--exchange", args.exchange]
    return round, contestants


def ask_one(args, folder):
    round, contestants = open_round(args, args.round or 0, folder)
    tree = Form(args.sql) if args.sql else round.statement(args.statement).tree
    judge = Judge(contestants)
    for contestant in contestants:
        sql = write(tree, contestant.dialect)
        answer = contestant.ask(sql)
        if contestant.dialect != DATAFUSION or contestant is contestants[0]:
            print(sql)
        print(f"{contestant.name}: {answer}")
        for setting in getattr(contestant, "settings", ()):
            print(f"  {setting};")
        for row in answer.rows or ():
            print(f"  {row}")
    found = [] if args.sql else judge.differences(tree)
    for difference in found:
        print(f"{difference.left} and {difference.right}: {difference.kind}: "
              f"{difference.text}")
    for contestant in contestants:
        contestant.close()
    return bool(found)


def run_round(args, number, folder, n):
    tally = Tally()
    round, contestants = open_round(args, number, folder)
    try:
        run(round, Judge(contestants), range(n), tally, args.tries,
            lambda text: print(text, flush=True), args.most)
    finally:
        for contestant in contestants:
            contestant.close()
    return tally


def run_all(args, folder):
    """Rounds, so many at a time, until there are enough differences."""
    tally, begun = Tally(), time.monotonic()
    sizes = {args.round: args.per_round} if args.round is not None else {
        number: min(args.per_round, args.statements - at) for number, at in
        enumerate(range(0, args.statements, args.per_round))}
    with ProcessPoolExecutor(args.jobs) as pool:
        rounds = [pool.submit(run_round, args, number, folder, n)
                  for number, n in sizes.items()]
        for done in as_completed(rounds):
            tally.add(done.result())
            if len(tally.found) >= args.most:
                pool.shutdown(cancel_futures=True)
                break
    report(tally, time.monotonic() - begun)
    return bool(tally.found)


def report(tally, seconds):
    print(f"{tally.statements} statements, {tally.rows} rows, "
          f"{tally.asked_duckdb} also of DuckDB, {tally.refused} refused by "
          f"DataFusion, {seconds:.0f} s")
    for name, n in sorted(tally.listed.items()):
        print(f"  listed, {n} times: {name}")
    for (left, right, kind), n in tally.errors.items():
        print(f"  not listed, {n} times: {left} and {right}: {kind}")
    print(f"  not listed and shown: {len(tally.found)}")


def main():
    args = arguments()
    one = args.statement is not None or args.sql
    if args.folder:
        return (ask_one if one else run_all)(args, args.folder)
    with tempfile.TemporaryDirectory(prefix="weir-sql-") as folder:
        return (ask_one if one else run_all)(args, folder)


if __name__ == "__main__":
    sys.exit(main())
