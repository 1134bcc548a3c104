# SPDX-License-Identifier: Apache-2.0
"""The differential test's own tests, without weir-sql: DuckDB stands in for
all who answer, and a fault is planted in one of them."""
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from compare import compare, stamp  # noqa: E402
from contestants import Answer, DuckDb, WeirSql  # noqa: E402
from known import LISTED, SEMANTICS, Listed  # noqa: E402
from queries import Generator  # noqa: E402
from reduce import reduce  # noqa: E402
from rounds import Judge, Round, Tally, run  # noqa: E402
from tables import make_tables, script  # noqa: E402
from tree import DUCKDB, Form, Many, marks, size, write  # noqa: E402
from values import Value  # noqa: E402

# What weir-sql's prompt looks like to a program.
PROMPT = r"""
import sys
print("weir> ", end="", flush=True)
for line in sys.stdin:
    line = line.strip()
    if line.startswith("SELECT") and line.endswith("AS weir_mark;"):
        print('{"weir_mark":' + line.split()[1] + "}")
    elif line.startswith("FAIL"):
        print("weir-sql: no such thing", file=sys.stderr)
        print("thread panicked", file=sys.stderr, flush=True)
    elif line.startswith("HANG"):
        sys.stdin.read()
    elif line.startswith("END"):
        print("out of luck", file=sys.stderr)
        sys.exit(3)
    else:
        print('{"c1":%d}' % len(line))
        print('{}')
    print("weir> ", end="", flush=True)
"""


class Faulty(DuckDb):
    """It takes outer joins for inner ones."""

    def ask(self, sql):
        return super().ask(sql.replace(" LEFT JOIN ", " JOIN "))


def columns(**kinds):
    return {name: Value(kind) for name, kind in kinds.items()}


def answer(*rows):
    return Answer(rows=list(rows))


def differ(a, b, order=(), **kinds):
    found = compare("weir-2", "plain", a, b, columns(**kinds), list(order))
    return found and found.kind


class Comparing(unittest.TestCase):
    def test_rows_are_a_multiset(self):
        one, two = '{"c1":1}', '{"c1":2}'
        self.assertIsNone(differ(answer(one, two), answer(two, one),
                                 c1="i64"))
        self.assertEqual(differ(answer(one, two, two), answer(two, one, one),
                                c1="i64"), "rows")
        self.assertEqual(differ(answer(one), answer(), c1="i64"), "rows")

    def test_order_counts_where_a_statement_gives_it(self):
        rows = '{"c1":1,"c2":1}', '{"c1":1,"c2":2}', '{"c1":2,"c2":1}'
        a, b = answer(*rows), answer(rows[1], rows[0], rows[2])
        self.assertIsNone(differ(a, b, ["c1"], c1="i64", c2="i64"))
        self.assertEqual(differ(a, b, ["c1", "c2"], c1="i64", c2="i64"),
                         "order")

    def test_values_of_a_kind_are_equal_however_they_are_written(self):
        for kind, a, b in (("i64", "5", '"5"'), ("d9_2", "1.50", "1.5"),
                           ("f64", "1e2", "100.0"), ("f64", "-0.0", "0.0"),
                           ("f32", "0.1", "0.10000000149011612"),
                           ("ts", '"2024-01-31T12:30:15"',
                            '"2024-01-31 12:30:15.000"'),
                           ("tz", '"2024-01-31T12:30:15Z"',
                            '"2024-01-31T12:30:15+00:00"'),
                           ("bin", '"00ff"', '"00FF"'),
                           ("st", '{"a":1}', '{"a":1,"b":null}'),
                           ("li", "[1,null]", "[1.0,null]")):
            a, b = (answer('{"c1":%s}' % it) for it in (a, b))
            self.assertIsNone(differ(a, b, c1=kind), kind)

    def test_values_that_look_alike_are_different(self):
        for kind, a, b in (("txt", '{"c1":""}', "{}"),
                           ("f64", '{"c1":null}', "{}"),
                           ("f64", '{"c1":0.1}', '{"c1":0.10000000000000002}'),
                           ("i64", '{"c1":9007199254740993}',
                            '{"c1":9007199254740992}'),
                           ("txt", '{"c1":"a"}', '{"c1":"a "}'),
                           ("flag", '{"c1":true}', '{"c1":false}'),
                           ("lt", '{"c1":[]}', '{"c1":[null]}'),
                           ("st", '{"c1":{}}', "{}")):
            self.assertEqual(differ(answer(a), answer(b), c1=kind), "rows",
                             (kind, a, b))

    def test_rough_values_may_differ_in_their_last_bits(self):
        rough = {"c1": Value("f64", rough=True), "c2": Value("i64")}

        def kind(a, b):
            found = compare("weir-2", "plain", a, b, rough, [])
            return found and found.kind
        a = answer('{"c1":0.1,"c2":1}', '{"c1":5.0,"c2":1}')
        near = answer('{"c1":5.000000000001,"c2":1}',
                      '{"c1":0.10000000000000002,"c2":1}')
        self.assertIsNone(kind(a, near))
        far = answer('{"c1":5.1,"c2":1}', '{"c1":0.1,"c2":1}')
        self.assertEqual(kind(a, far), "rows")
        other = answer('{"c1":0.1,"c2":1}', '{"c1":5.0,"c2":2}')
        self.assertEqual(kind(a, other), "rows")
        self.assertIsNone(kind(answer('{"c1":null,"c2":1}'),
                               answer('{"c2":1}')))
        self.assertEqual(kind(answer('{"c1":null,"c2":1}'),
                              answer('{"c1":0.5,"c2":1}')), "rows")

    def test_errors_and_ends_are_differences(self):
        error, lost = Answer(error="no 17 columns"), Answer(lost="status 101")
        self.assertTrue(differ(error, answer(), c1="i64").startswith(
            "('error', 'rows') no # col"))
        self.assertIsNone(differ(error, Answer(error="other"), c1="i64"))
        self.assertTrue(differ(lost, lost, c1="i64").startswith("lost"))

    def test_a_panic_is_an_error_with_workers_and_an_end_without(self):
        error = Answer(error="a task has panicked: x.rs:8")
        lost = Answer(lost="status 101", notes="thread main panicked at x.rs")
        self.assertIsNone(differ(error, lost, c1="i64"))
        self.assertTrue(differ(lost, answer(), c1="i64").startswith("lost"))

    def test_stamps(self):
        self.assertEqual(stamp("2024-01-31T06:00:00.250"),
                         stamp("2024-01-31 06:00:00.25"))
        self.assertEqual(stamp("10:00:00"), "10:00:00")


class Listing(unittest.TestCase):
    def test_an_entry_covers_what_it_says_and_no_more(self):
        entry = Listed("x", "y", ("weir", "plain"), error="no such",
                       marks={"window"})
        found = compare("weir-4", "plain", Answer(error="no such thing"),
                        answer(), {}, [])
        self.assertTrue(entry.covers(found, "SELECT 1", {"window"}))
        self.assertFalse(entry.covers(found, "SELECT 1", frozenset()))
        found = compare("plain", "duckdb", Answer(error="no such thing"),
                        answer(), {}, [])
        self.assertFalse(entry.covers(found, "SELECT 1", {"window"}))

    def test_each_has_a_name_of_its_own_and_a_reason(self):
        names = [entry.name for entry in LISTED]
        self.assertEqual(len(names), len(set(names)))
        for entry in LISTED:
            self.assertTrue(entry.reason.endswith("."), entry.name)
            self.assertTrue(entry.error or entry.sql or entry.marks,
                            f"{entry.name} covers everything")


class Generating(unittest.TestCase):
    def tables(self, seed=3):
        return make_tables(random.Random(seed))

    def test_a_seed_gives_the_same_text_in_each_process(self):
        code = "import sys, random; sys.path.insert(0, sys.argv[1]); " \
            "from rounds import Round; from tree import write; " \
            "r = Round(5, 1, '/nowhere'); " \
            "print([write(r.statement(n).tree) for n in range(30)])"
        texts = set()
        for hashes in ("0", "1", "2"):
            texts.add(subprocess.run(
                [sys.executable, "-c", code, str(HERE)], check=True,
                capture_output=True, env=dict(os.environ,
                                              PYTHONHASHSEED=hashes)).stdout)
        self.assertEqual(len(texts), 1)

    def test_a_statement_does_not_depend_on_those_before(self):
        round = Round(5, 1, "/nowhere")
        last = write(round.statement(7).tree)
        for n in range(7):
            round.statement(n)
        self.assertEqual(write(round.statement(7).tree), last)

    def test_every_construct_comes_in_some_hundred_statements(self):
        texts = []
        for seed in range(10):
            generator = Generator(random.Random(seed), self.tables(seed))
            texts += [write(generator.statement().tree) for _ in range(100)]
        for word in ("LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN",
                     "LEFT ANTI JOIN", "CROSS JOIN", "HAVING", "GROUP BY",
                     "ROLLUP", "CUBE", "GROUPING SETS", "UNION ALL",
                     "INTERSECT", "EXCEPT", "WITH RECURSIVE", "EXISTS",
                     " IN (SELECT", "ANY (SELECT", "(SELECT max(", "VALUES",
                     "LIMIT", "OFFSET", "IGNORE NULLS", "FILTER (WHERE",
                     "ROWS BETWEEN", "RANGE BETWEEN", "GROUPS BETWEEN",
                     "count(DISTINCT", "string_agg(", "array_agg(", "stddev(",
                     "IS NOT DISTINCT FROM", "SELECT DISTINCT", "NULLS FIRST",
                     "generate_series(", "make_array(", "named_struct(",
                     "CASE WHEN", "PARTITION BY", "first_value("):
            self.assertTrue(any(word in text for text in texts), word)

    def test_duckdb_refuses_few_of_them(self):
        refused = asked = 0
        with tempfile.TemporaryDirectory() as folder:
            round = Round(11, 0, folder)
            path = Path(folder) / "tables.sql"
            path.write_text(script(round.tables), encoding="utf-8")
            duckdb = DuckDb(path)
            for n in range(60):
                tree = round.statement(n).tree
                if not SEMANTICS.keys() & marks(tree):
                    said = duckdb.ask(write(tree, DUCKDB))
                    asked += 1
                    refused += said.rows is None
            duckdb.close()
        self.assertGreater(asked, 30)
        self.assertLess(refused, asked / 8)

    def test_tables_have_all_types_and_shapes(self):
        seen, sizes, forms = set(), set(), set()
        for seed in range(40):
            for table in self.tables(seed):
                forms.add(table.form)
                seen |= {it.value.name for it in table.columns}
                sizes.add(len(table.rows))
                if table.unique:
                    ids = [row[0] for row in table.rows]
                    self.assertEqual(len(ids), len(set(ids)))
        self.assertLessEqual({0, 1, 60}, sizes)
        self.assertLessEqual({"parquet", "arrow", "csv", "json", "hive"},
                             forms)
        self.assertLessEqual({"i8", "u64", "f32", "f64w", "d38_10", "txt",
                              "bin", "tz", "tm", "uuid", "li", "st"}, seen)


class Reducing(unittest.TestCase):
    def test_a_needle_is_found(self):
        tables = make_tables(random.Random(3))
        generator = Generator(random.Random(4), tables)
        found = 0
        for _ in range(60):
            tree = generator.statement().tree
            if "coalesce(" in write(tree):
                small = reduce(tree, lambda it: "coalesce(" in write(it))
                self.assertIn("coalesce(", write(small))
                self.assertLess(size(small), size(tree))
                self.assertLess(len(write(small)), 400, write(small))
                found += 1
        self.assertGreater(found, 3)

    def test_what_is_fixed_stays_whole(self):
        inner = Form("a, b", sort="expr", value=Value("i64"))
        fixed = Form("ORDER BY {}", Many([inner, inner]), fixed=True)
        tree = Form("x {} {}", fixed, Many([Form("1"), Form("2")]))
        self.assertEqual(write(reduce(tree, lambda it: True)),
                         "x ORDER BY a, b, a, b 2")

    def test_tries_are_counted(self):
        tree = Many([Form("1")] * 9)
        asked = []
        reduce(tree, lambda it: asked.append(it), tries=5)
        self.assertEqual(len(asked), 5)

    def test_columns_follow_the_tree(self):
        generator = Generator(random.Random(1), make_tables(random.Random(1)))
        for _ in range(50):
            statement = generator.statement()
            self.assertEqual(list(statement.columns)[:1], ["c1"])
            self.assertLessEqual(set(statement.order),
                                 set(statement.columns))


class Talking(unittest.TestCase):
    """The way to weir-sql's prompt."""

    def setUp(self):
        self.it = WeirSql("weir-2", [sys.executable, "-uc", PROMPT], "/tmp")
        self.addCleanup(self.it.close)

    def test_rows_and_errors(self):
        self.assertEqual(self.it.ask("12345").rows, ['{"c1":6}', "{}"])
        said = self.it.ask("FAIL")
        self.assertEqual((said.error, said.notes),
                         ("no such thing", "thread panicked"))
        self.assertEqual(self.it.ask("1").rows, ['{"c1":2}', "{}"])

    def test_statements_of_any_length(self):
        self.assertEqual(self.it.ask("x" * 30000).rows,
                         ['{"c1":30001}', "{}"])

    def test_one_that_ends_is_said_and_started_again(self):
        said = self.it.ask("END")
        self.assertEqual((said.kind(), said.lost),
                         ("lost", "ended with status 3"))
        self.assertIn("out of luck", said.notes)
        self.assertEqual(self.it.ask("1").rows, ['{"c1":2}', "{}"])

    def test_one_that_hangs_twice_is_said(self):
        said = self.it.ask("HANG", limits=(0.01, 0.01))
        self.assertTrue(said.lost.startswith("no answer in 0.01 s"), said)
        self.assertEqual(self.it.ask("1").rows, ['{"c1":2}', "{}"])


class Finding(unittest.TestCase):
    """All of it: a fault in one of two is found, and made small."""

    def search(self, faulty, statements, seed=2):
        with tempfile.TemporaryDirectory() as folder:
            round = Round(seed, 0, folder)
            round.script = Path(folder) / "tables.sql"
            round.script.write_text(script(round.tables), encoding="utf-8")
            weir = faulty(round.script, name="weir-2")
            plain = DuckDb(round.script, name="plain")
            for it in (weir, plain):
                it.dialect = DUCKDB
            tally, said = Tally(), []
            run(round, Judge([weir, plain]), range(statements), tally, 300,
                said.append, most=3)
            weir.close()
            plain.close()
            return tally, said

    def test_a_planted_fault_is_found_and_made_small(self):
        tally, said = self.search(Faulty, 300)
        self.assertEqual(len(tally.found), 3)
        for found in tally.found:
            text = write(found.tree, DUCKDB)
            self.assertIn(" LEFT JOIN ", text)
            self.assertLess(len(text), 400, text)
        self.assertIn("rows", [it.difference.kind for it in tally.found])
        self.assertIn("seed 2, round 0, statement ", said[0])

    def test_without_a_fault_nothing_is_found(self):
        tally, said = self.search(DuckDb, 60)
        self.assertEqual((tally.statements, said), (60, []))


if __name__ == "__main__":
    unittest.main()
