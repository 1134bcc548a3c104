# SPDX-License-Identifier: Apache-2.0
"""A round: tables, those who answer, statements, and what differs."""
import json
import random
import re
import shutil
import time
from collections import Counter
from pathlib import Path

from compare import compare
from contestants import WeirSql
from known import SEMANTICS, listed
from queries import Generator, Statement
from reduce import reduce
from tables import arrow_copies, copies, make_tables, script
from tree import DUCKDB, marks, write


SETTINGS = {
    "datafusion.execution.batch_size": (2, 7, 100),
    "datafusion.optimizer.prefer_hash_join": ("true", "true", "false"),
    "datafusion.optimizer.hash_join_single_partition_threshold": (0,),
    "datafusion.optimizer.hash_join_single_partition_threshold_rows": (0,),
    "datafusion.execution.parquet.pushdown_filters": ("true",),
    "datafusion.execution.skip_partial_aggregation_probe_rows_threshold": (
        1, 10),
    "datafusion.execution.collect_statistics": ("true", "false"),
}
# Of weir-sql with workers alone.
SPREAD = {
    "distributed.partial_reduce": ("true",),
    "distributed.broadcast_joins": ("false",),
    "distributed.children_isolator_unions": ("false",),
    "distributed.shuffle_batch_size": (3,),
}
BUSY = re.compile("timed-out while waiting for the plan|transport error")
PATIENCE = 90  # seconds


class Round:
    """What a seed and a round's number make, in a folder of its own."""

    def __init__(self, seed, number, folder):
        self.seed, self.number = seed, number
        self.folder = Path(folder)
        self.tables = make_tables(random.Random(f"{seed} {number} tables"))

    def statement(self, n):
        """The nth one, whichever others there are."""
        rng = random.Random(f"{self.seed} {self.number} {n}")
        return Generator(rng, self.tables).statement()

    def write_tables(self, weir_sql, duckdb):
        """Files for weir-sql, and tables.sql for DuckDB."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "data").mkdir(parents=True)
        self.script = self.folder / "tables.sql"
        self.script.write_text(script(self.tables), encoding="utf-8")
        writer = duckdb(self.script)
        for table in self.tables:
            for copy in copies(table, self.folder):
                must(writer, copy)
        writer.close()
        if any(table.form == "arrow" for table in self.tables):
            writer = WeirSql("writer", [weir_sql, "--workers", "0",
                                        "--format", "ndjson", "--quiet"],
                             self.folder)
            for table in self.tables:
                if table.form == "arrow":
                    for copy in arrow_copies(table, self.folder):
                        must(writer, copy)
            writer.close()

    def check_types(self, plain):
        """Do files give the types that the grammar takes them to have?"""
        answer = plain.ask("SELECT table_name AS t, column_name AS c, "
                           "data_type AS d FROM information_schema.columns "
                           "WHERE table_schema = 'public'")
        found = {(row["t"], row["c"]): row["d"]
                 for row in map(json.loads, answer.rows)}
        wrong = [f"{table.name}.{it.name} in {table.form}: wanted "
                 f"{it.value.name}, is {found.get((table.name, it.name))}"
                 for table in self.tables for it in table.columns
                 if not re.fullmatch(it.value.type.arrow,
                                     found.get((table.name, it.name), ""))]
        if wrong:
            raise RuntimeError("; ".join(wrong))

    def check_spread(self, weir):
        """Does a plan over the largest table have an exchange?"""
        table = max(self.tables, key=lambda it: len(it.rows))
        answer = weir.ask(f"EXPLAIN SELECT k, count(*) FROM {table.name} "
                          "GROUP BY k")
        if "NetworkShuffleExec" not in " ".join(answer.rows or ()):
            raise RuntimeError(f"{weir.name}: {table.name} stays in one "
                               f"process: {answer.rows or answer}")

    def contestants(self, weir_sql, workers, duckdb):
        """Plain DataFusion, weir-sql with workers, and DuckDB. Settings are
        drawn: small batches, and joins and aggregations of all kinds. A
        process starts when it is first asked."""
        rng = random.Random(f"{self.seed} {self.number} settings")
        settings = drawn(rng, SETTINGS, 0.5)
        spread = drawn(rng, SPREAD, 0.3)
        base = [weir_sql, "--data", str(self.folder / "data"), "--format",
                "ndjson", "--quiet"]
        n = rng.choice(workers)
        m = rng.choice((2, 3, 4))

        def start(name, workers, partitions, *more):
            command = base + ["--workers", str(workers), "--partitions",
                              str(partitions)]
            return WeirSql(name, command, self.folder, sum(more, settings))
        return [start(f"weir-{n}", n, m, spread), start("plain", 0, 1),
                start(f"plain-{n * m}", 0, n * m), duckdb(self.script)]


def drawn(rng, settings, chance):
    return [f"SET {name} = {rng.choice(values)}"
            for name, values in settings.items() if rng.random() < chance]


def must(contestant, sql):
    answer = contestant.ask(sql)
    if answer.rows is None:
        raise RuntimeError(f"{contestant.name}: {sql}: {answer}")


class Found:
    """A difference, with the smallest statement that was found to show it."""

    def __init__(self, round, n, tree, difference):
        self.round, self.n, self.tree = round, n, tree
        self.difference = difference

    def __str__(self):
        it = self.difference
        lines = [f"seed {self.round.seed}, round {self.round.number}, "
                 f"statement {self.n}: {it.left} and {it.right}: {it.kind}",
                 f"  {write(self.tree)}"]
        if it.right == "duckdb":
            lines.append(f"  DuckDB: {write(self.tree, DUCKDB)}")
        return "\n".join(lines + [f"  {it.text[:1500]}"])


def patiently(who, sql):
    """DataFusion Distributed waits 10 s for a plan, which is not enough where
    a debug build shares a machine: ask again, for a while."""
    for _ in range(4):
        answer = who.ask(sql)
        if answer.error is None or not BUSY.search(answer.error):
            break
    return answer


class Judge:
    """Asks a round's contestants: weir's against plain DataFusion, and that
    against DuckDB. Where weir differs, plain DataFusion with more partitions
    ("plain-6") is asked whether it does so, too: then it is not weir's."""

    def __init__(self, contestants):
        self.by_name = {it.name: it for it in contestants}
        self.weir = [it for it in self.by_name if it.startswith("weir")]
        self.many = next((it for it in self.by_name
                          if it.startswith("plain-")), None)

    def pairs(self, tree):
        pairs = [(weir, "plain") for weir in self.weir]
        if "duckdb" in self.by_name and not SEMANTICS.keys() & marks(tree):
            pairs.append(("plain", "duckdb"))
        return pairs

    def ask(self, tree, names):
        for name in names:
            if name not in self.answers:
                self.answers[name] = patiently(
                    self.by_name[name], write(tree, self.by_name[name].dialect))

    def compare(self, tree, a, b):
        statement = Statement(tree)
        self.ask(tree, (a, b))
        return compare(a, b, self.answers[a], self.answers[b],
                       statement.columns, statement.order)

    def differences(self, tree):
        self.answers = {}
        found = [self.compare(tree, *pair) for pair in self.pairs(tree)]
        found = [it for it in found if it is not None]
        for i, it in enumerate(found):
            if it.left in self.weir and self.many is not None:
                also = self.compare(tree, self.many, "plain")
                if also is not None and (also.kind == it.kind or
                                         also.is_failure() and it.is_failure()):
                    found[i] = also
        return found

    def smallest(self, tree, difference, tries):
        """The statement, reduced; and its difference. It takes no longer than
        PATIENCE: hangs are slow to show."""
        pair, last = (difference.left, difference.right), [difference]
        end = time.monotonic() + PATIENCE

        def shows(new):
            if time.monotonic() > end:
                return False
            if SEMANTICS.keys() & marks(new) and "duckdb" in pair:
                return False
            self.answers = {}
            found = self.compare(new, *pair)
            if found is None or found.signature() != difference.signature():
                return False
            last[0] = found
            return True
        return reduce(tree, shows, tries), last[0]


class Tally:
    """What a run has seen."""

    def __init__(self):
        self.statements = self.refused = self.asked_duckdb = self.rows = 0
        self.listed, self.errors = Counter(), Counter()
        self.found = []

    def note(self, judge):
        self.statements += 1
        plain = judge.answers.get("plain")
        if plain is not None:
            self.refused += plain.rows is None
            self.rows += len(plain.rows or ())
        self.asked_duckdb += "duckdb" in judge.answers

    def add(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def is_new(self, difference):
        """Errors of one kind are shown twice, and counted."""
        if difference.kind in ("rows", "order"):
            return True
        self.errors[difference.signature()] += 1
        return self.errors[difference.signature()] <= 2


def run(round, judge, statements, tally, tries, say, most=30):
    """Statements of a round, by number, until so many differences."""
    for n in statements:
        tree = round.statement(n).tree
        differences = judge.differences(tree)
        tally.note(judge)
        for difference in differences:
            entry = listed(difference, write(tree), marks(tree))
            if entry is not None:
                tally.listed[entry.name] += 1
            elif tally.is_new(difference):
                small, last = judge.smallest(tree, difference, tries)
                entry = listed(last, write(small), marks(small))
                if entry is not None:
                    tally.listed[entry.name] += 1
                    continue
                tally.found.append(Found(round, n, small, last))
                say(str(tally.found[-1]))
        if len(tally.found) >= most:
            return
