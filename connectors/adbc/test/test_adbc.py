# SPDX-License-Identifier: Apache-2.0
"""The driver as programs of Python load it, on servers of DuckDB and SQLite."""

import contextlib
import datetime
import decimal
import gc
import itertools
import os
import signal
import threading
import unittest

import adbc_driver_manager
import adbc_driver_manager.dbapi as dbapi
import pyarrow
import pyarrow.compute

from server import DRIVER, Server

# 1, 2, ..., as each engine makes them.
NUMBERS = {
    "duckdb": "SELECT range + 1 AS i FROM range({})",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
              "LIMIT {}) SELECT i FROM n",
}


class Common:
    """What holds for every engine. A class per engine adds its name."""

    engine = ""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.engine)

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0, "the server ended with an error"

    def setUp(self):
        self.conn = self.enterContext(contextlib.closing(self.server.connect()))
        self.cur = self.enterContext(contextlib.closing(self.conn.cursor()))

    def numbers(self, n):
        return NUMBERS[self.engine].format(n)

    def fetch(self, query, parameters=None):
        self.cur.execute(query, parameters)
        return self.cur.fetch_arrow_table()

    def make(self, name, table, mode="replace"):
        return self.cur.adbc_ingest(name, table, mode=mode)

    # ---- results ------------------------------------------------------------

    def test_a_result_arrives(self):
        table = self.fetch("SELECT 42 AS answer, 'weir' AS who")
        self.assertEqual(table.column_names, ["answer", "who"])
        self.assertEqual(table.to_pylist(), [{"answer": 42, "who": "weir"}])

    def test_a_large_result_arrives_whole(self):
        table = self.fetch(self.numbers(300_000))
        self.assertEqual(table.num_rows, 300_000)
        self.assertEqual(sum(table["i"].to_pylist()), 300_000 * 300_001 // 2)

    def test_no_rows_have_a_schema(self):
        table = self.fetch("SELECT 1 AS one WHERE 1 = 0")
        self.assertEqual((table.num_rows, table.column_names), (0, ["one"]))

    def test_rows_come_as_python_has_them(self):
        self.cur.execute("SELECT 1, 'a' UNION ALL SELECT 2, NULL ORDER BY 1")
        self.assertEqual(self.cur.fetchall(), [(1, "a"), (2, None)])

    def test_a_table_outlives_all_that_it_came_from(self):
        conn = self.server.connect()
        cur = conn.cursor()
        cur.execute(self.numbers(50_000))
        table = cur.fetch_arrow_table()
        cur.close()
        conn.close()
        del cur, conn
        gc.collect()
        self.assertEqual(sum(table["i"].to_pylist()), 50_000 * 50_001 // 2)

    # ---- parameters, statements ---------------------------------------------

    def test_parameters_are_bound(self):
        table = self.fetch("SELECT CAST(? AS BIGINT) + 1 AS x", [41])
        self.assertEqual(table["x"].to_pylist(), [42])

    def test_statements_change_tables(self):
        self.make("changed", pyarrow.table({"i": [1, 2, 40]}))
        self.cur.adbc_statement.set_sql_query(
            "UPDATE changed SET i = i + 1 WHERE i < 3")
        self.assertEqual(self.cur.adbc_statement.execute_update(), 2)
        table = self.fetch("SELECT i FROM changed ORDER BY i")
        self.assertEqual(table["i"].to_pylist(), [2, 3, 40])

    def test_a_statement_is_described_without_a_run(self):
        self.make("described", pyarrow.table({"i": [1]}))
        self.assertEqual(
            len(self.cur.adbc_prepare(
                "SELECT i FROM described WHERE i > ?")), 1)

    # ---- ingestion ----------------------------------------------------------

    def test_rows_are_taken_in(self):
        rows = pyarrow.table({"i": range(100_000), "s": ["x", None] * 50_000})
        self.assertEqual(self.make("taken", rows, "create"), 100_000)
        with self.assertRaises(dbapi.Error):
            self.make("taken", rows, "create")
        self.make("taken", rows.slice(7, 3), "append")
        table = self.fetch("SELECT count(*) AS n, count(s) AS s, sum(i) AS i "
                           "FROM taken")
        row = table.to_pylist()[0]
        self.assertEqual((row["n"], row["s"], int(row["i"])),
                         (100_003, 50_001, 99_999 * 50_000 + 7 + 8 + 9))

    def test_a_stream_is_taken_in(self):
        batch = pyarrow.record_batch({"i": pyarrow.array(range(1000))})
        stream = pyarrow.RecordBatchReader.from_batches(
            batch.schema, (batch for _ in range(100)))
        self.assertEqual(self.make("streamed", stream), 100_000)

    def test_rows_of_another_connection_are_taken_in(self):
        self.make("from_here", pyarrow.table({"i": range(5000)}))
        with contextlib.closing(self.server.connect()) as other, \
                contextlib.closing(other.cursor()) as cur:
            cur.execute("SELECT i FROM from_here")
            # SQLite reads of one connection lock out writes of another.
            rows = cur.fetch_arrow_table()
            cur.close()
            self.assertEqual(self.make("to_there", rows), 5000)

    # ---- sessions -----------------------------------------------------------

    def other(self):
        """A cursor of another connection."""
        conn = self.enterContext(contextlib.closing(self.server.connect()))
        return self.enterContext(contextlib.closing(conn.cursor()))

    def count(self, cur, table):
        cur.execute(f"SELECT count(*) FROM {table}")
        return cur.fetchone()[0]

    def test_a_temporary_table_is_its_connections(self):
        rows = pyarrow.table({"i": [1, 2]})
        self.assertEqual(
            self.cur.adbc_ingest("fleeting", rows, temporary=True), 2)
        self.assertEqual(self.count(self.cur, "fleeting"), 2)
        with self.assertRaises(dbapi.Error):
            self.count(self.other(), "fleeting")
        self.cur.execute("CREATE TEMP TABLE brief AS SELECT 7 AS i")
        self.cur.fetchall()
        self.assertEqual(self.count(self.cur, "brief"), 1)

    def test_what_is_not_committed_is_rolled_back(self):
        conn = self.conn.adbc_connection
        self.make("booked", pyarrow.table({"i": [1]}))
        conn.set_autocommit(False)
        self.cur.adbc_ingest("booked", pyarrow.table({"i": [2, 3]}),
                             mode="append")
        self.assertEqual(self.count(self.cur, "booked"), 3)
        conn.rollback()
        self.assertEqual(self.count(self.cur, "booked"), 1)
        conn.rollback()
        self.cur.adbc_ingest("booked", pyarrow.table({"i": [4]}),
                             mode="append")
        conn.commit()
        self.assertEqual(self.count(self.other(), "booked"), 2)
        conn.set_autocommit(True)
        with self.assertRaisesRegex(dbapi.Error, "autocommit is on"):
            conn.commit()

    def test_a_transaction_of_statements_is_one(self):
        self.make("begun", pyarrow.table({"i": [1]}))
        for text in ("BEGIN", "INSERT INTO begun VALUES (2)"):
            self.cur.executescript(text)
        self.assertEqual(self.count(self.cur, "begun"), 2)
        self.cur.executescript("ROLLBACK")
        self.assertEqual(self.count(self.cur, "begun"), 1)

    def test_partitions_are_refused_in_a_transaction(self):
        self.conn.adbc_connection.set_autocommit(False)
        with self.assertRaisesRegex(dbapi.Error, "autocommit"):
            self.cur.adbc_execute_partitions("SELECT 1")

    def test_a_child_of_fork_is_refused_and_harms_nobody(self):
        self.cur.execute(self.numbers(300_000))
        reader = self.cur.fetch_record_batch()
        first = next(reader)
        child = os.fork()
        if child == 0:
            said = 0
            for use in (lambda: next(reader),
                        lambda: self.conn.cursor().execute("SELECT 1"),
                        lambda: self.conn.commit(),
                        self.cur.adbc_cancel,
                        self.server.connect().cursor):
                try:
                    use()
                except Exception as error:
                    said += "has forked" in str(error)
            del reader, first
            gc.collect()
            os._exit(said)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 2)
        rows = first.num_rows + sum(batch.num_rows for batch in reader)
        self.assertEqual(rows, 300_000)
        self.assertEqual(self.fetch("SELECT 1 AS i")["i"].to_pylist(), [1])

    # ---- partitions ---------------------------------------------------------

    def test_partitions_have_all_rows_once(self):
        self.make("parted", pyarrow.table({"i": range(200_000)}))
        parts, schema = self.cur.adbc_execute_partitions(
            "SELECT i FROM parted")
        self.assertEqual(schema.names, ["i"])
        self.assertEqual(len(parts), 8)
        sums = [None] * len(parts)

        def read(at):
            with contextlib.closing(self.server.connect()) as conn, \
                    contextlib.closing(conn.cursor()) as cur:
                cur.adbc_read_partition(parts[at])
                sums[at] = sum(cur.fetch_arrow_table()["i"].to_pylist())

        threads = [threading.Thread(target=read, args=(i,))
                   for i in range(len(parts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(sums), 199_999 * 100_000)
        with self.assertRaises(dbapi.Error):
            self.cur.adbc_read_partition(parts[0])

    # ---- catalogs -----------------------------------------------------------

    def test_tables_are_listed_and_described(self):
        self.make("listed", pyarrow.table({"i": [1], "s": ["a"]}))
        found = self.conn.adbc_get_objects(
            depth="all", table_name_filter="listed").read_all().to_pylist()
        tables = [t for catalog in found
                  for schema in catalog["catalog_db_schemas"] or []
                  for t in schema["db_schema_tables"] or []]
        self.assertEqual([t["table_name"] for t in tables], ["listed"])
        self.assertEqual(
            [c["column_name"] for c in tables[0]["table_columns"]], ["i", "s"])
        schema = self.conn.adbc_get_table_schema("listed")
        self.assertEqual(schema.names, ["i", "s"])
        with self.assertRaises(dbapi.Error):
            self.conn.adbc_get_table_schema("no_such_table")
        self.assertIn("vendor_name", self.conn.adbc_get_info())
        self.assertTrue(self.conn.adbc_get_table_types())

    # ---- errors -------------------------------------------------------------

    def test_an_error_has_the_engines_message_whole(self):
        name = "no_such_" + "x" * 3000
        with self.assertRaises(dbapi.Error) as caught:
            self.fetch(f"SELECT 1 FROM {name}")
        self.assertIn(name, str(caught.exception))
        self.assertEqual(self.fetch("SELECT 1 AS i")["i"].to_pylist(), [1])

    def test_an_option_that_is_not_there_is_refused(self):
        with self.assertRaises(dbapi.Error):
            self.server.connect(**{"adbc.weir.no_such_option": "1"})

    def test_a_data_set_that_is_not_there_is_named(self):
        with contextlib.closing(self.server.connect(
                **{"adbc.weir.dataset": "nowhere"})) as conn, \
                contextlib.closing(conn.cursor()) as cur:
            with self.assertRaisesRegex(dbapi.Error, "nowhere"):
                cur.execute("SELECT 1")

    # ---- several at a time --------------------------------------------------

    def test_two_streams_of_one_connection_are_read_in_turns(self):
        with contextlib.closing(self.conn.cursor()) as other:
            self.cur.execute(self.numbers(20_000))
            other.execute(self.numbers(20_000))
            ours = self.cur.fetch_record_batch()
            theirs = other.fetch_record_batch()
            rows = 0
            for one, another in itertools.zip_longest(ours, theirs):
                rows += one.num_rows if one is not None else 0
                rows -= another.num_rows if another is not None else 0
                self.assertTrue(one is not None or another is not None)
            self.assertEqual(rows, 0)

    def test_connections_work_side_by_side(self):
        self.make("aside", pyarrow.table({"i": range(50_000)}))
        sums = [None] * 4

        def read(at):
            with contextlib.closing(self.server.connect()) as conn, \
                    contextlib.closing(conn.cursor()) as cur:
                for _ in range(5):
                    cur.execute("SELECT i FROM aside")
                    sums[at] = sum(cur.fetch_arrow_table()["i"].to_pylist())

        threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sums, [49_999 * 25_000] * 4)

    def test_threads_share_a_connection_in_turns(self):
        self.make("turns", pyarrow.table({"i": range(50_000)}))
        sums = []

        def read():
            with contextlib.closing(self.conn.cursor()) as cur:
                for _ in range(5):
                    cur.execute("SELECT i FROM turns")
                    sums.append(sum(cur.fetch_arrow_table()["i"].to_pylist()))

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sums, [49_999 * 25_000] * 15)

    def test_nothing_is_left_when_the_last_table_is_released(self):
        def count_threads():
            gc.collect()
            return len(os.listdir("/proc/self/task"))

        before = count_threads()
        with contextlib.closing(self.server.connect()) as conn, \
                contextlib.closing(conn.cursor()) as cur:
            cur.execute(self.numbers(100_000))
            table = cur.fetch_arrow_table()
        self.assertGreater(count_threads(), before)
        del table
        self.assertEqual(count_threads(), before)

    def test_a_stream_that_is_cancelled_ends(self):
        self.cur.execute(self.numbers(3_000_000))
        reader = self.cur.fetch_record_batch()
        self.assertGreater(next(reader).num_rows, 0)
        self.cur.adbc_cancel()
        with self.assertRaises(Exception):
            for _ in reader:
                pass
        self.assertEqual(self.fetch("SELECT 1 AS i")["i"].to_pylist(), [1])


class DuckDB(Common, unittest.TestCase):
    engine = "duckdb"

    def test_types_arrive_as_they_left(self):
        self.cur.execute("""
            SELECT true AS b, 1::TINYINT AS i1, 2::UBIGINT AS u8, 1.5::FLOAT AS
            f, 12.34::DECIMAL(9, 2) AS d, DATE '2026-11-24' AS day,
            TIMESTAMP '2026-11-24 05:35:00' AS ts, 'x'::BLOB AS raw,
            [1, NULL, 3] AS list, {'a': 1, 'b': 'two'} AS struct,
            MAP {'k': 7} AS map, 'b'::ENUM ('a', 'b') AS enum, NULL AS nothing,
            INTERVAL 3 MONTH AS span, [1, 2]::INTEGER[2] AS pair""")
        table = self.cur.fetch_arrow_table()
        row = table.to_pylist()[0]
        self.assertIs(row["b"], True)
        self.assertEqual((row["i1"], row["u8"], row["f"]), (1, 2, 1.5))
        self.assertEqual(row["d"], decimal.Decimal("12.34"))
        self.assertEqual(row["day"], datetime.date(2026, 11, 24))
        self.assertEqual(row["ts"], datetime.datetime(2026, 11, 24, 5, 35))
        self.assertEqual((row["raw"], row["list"]), (b"x", [1, None, 3]))
        self.assertEqual(row["struct"], {"a": 1, "b": "two"})
        self.assertEqual((row["map"], row["enum"]), ([("k", 7)], "b"))
        self.assertEqual((row["nothing"], row["pair"]), (None, [1, 2]))
        self.assertEqual(row["span"].months, 3)
        table.validate(full=True)

    def test_names_and_variables_are_the_sessions(self):
        for text in ("CREATE SCHEMA IF NOT EXISTS aside",
                     "USE aside", "SET VARIABLE v = 41",
                     "PREPARE p AS SELECT getvariable('v') + 1 AS i"):
            self.cur.execute(text)
            self.cur.fetchall()
        self.assertEqual(self.fetch("EXECUTE p")["i"].to_pylist(), [42])
        self.assertEqual(
            self.fetch("SELECT current_schema() AS i")["i"].to_pylist(),
            ["aside"])
        other = self.other()
        other.execute("SELECT current_schema(), getvariable('v')")
        self.assertEqual(other.fetchall(), [("main", None)])

    def test_an_error_keeps_its_status(self):
        codes = adbc_driver_manager.AdbcStatusCode
        for text, status in (
                ("SELECT * FROM no_such_table", codes.INTERNAL),
                ("COPY (SELECT 1) TO 'f'", codes.UNAUTHORIZED),
                ("SELECT 'x'::INTEGER", codes.INVALID_ARGUMENT)):
            with self.assertRaises(dbapi.Error) as caught:
                self.fetch(text)
            self.assertEqual(caught.exception.status_code, status, text)
        with self.assertRaises(dbapi.InternalError):
            self.fetch("SELECT CASE WHEN range = 2900000 THEN error('late') "
                       "END FROM range(3000000)")

    def test_a_result_is_described_without_a_run(self):
        schema = self.cur.adbc_execute_schema("SELECT 1 AS a, 'x' AS b")
        self.assertEqual(schema.names, ["a", "b"])

    def test_a_query_at_work_is_cancelled(self):
        caught = []

        def run():
            try:
                self.cur.execute("SELECT sum(a.range * b.range) FROM "
                                 "range(10000000) a, range(10000000) b")
                self.cur.fetchall()
            except dbapi.Error as error:
                caught.append(error.status_code)

        thread = threading.Thread(target=run)
        thread.start()
        # Cancelled before it has begun it would run on: again until it ends.
        while thread.is_alive():
            self.cur.adbc_cancel()
            thread.join(0.1)
        self.assertEqual(caught, [adbc_driver_manager.AdbcStatusCode.CANCELLED])

    def test_a_server_that_is_killed_is_an_error(self):
        server = Server(self.engine)
        with contextlib.closing(server.connect()) as conn, \
                contextlib.closing(conn.cursor()) as cur:
            cur.execute("SELECT range AS i FROM range(100000000)")
            reader = cur.fetch_record_batch()
            self.assertGreater(next(reader).num_rows, 0)
            server.stop(signal.SIGKILL)
            with self.assertRaises(Exception):
                for _ in reader:
                    pass
            del reader
            with self.assertRaises(dbapi.Error):
                cur.execute("SELECT 1")


class SQLite(Common, unittest.TestCase):
    engine = "sqlite"

    def test_types_arrive_as_they_left(self):
        row = self.fetch(
            "SELECT 1 AS i, 2.5 AS d, 'text' AS s, x'00ff' AS raw, "
                         "NULL AS none").to_pylist()[0]
        self.assertEqual(row, {"i": 1, "d": 2.5, "s": "text",
                               "raw": b"\x00\xff", "none": None})

    def test_each_row_of_parameters_is_a_run(self):
        self.make("many", pyarrow.table({"i": [0]}))
        self.cur.executemany("INSERT INTO many VALUES (?)",
                             pyarrow.record_batch({"i": range(1, 100)}))
        self.assertEqual(
            self.fetch("SELECT sum(i) AS s FROM many")["s"].to_pylist(), [4950])


class Transports(unittest.TestCase):
    """The same over each way to a server of this host."""

    def test_ways(self):
        for way in ("tcp", "shm", "auto"):
            with self.subTest(way):
                server = Server("duckdb", "--anybody", "--transport", way)
                with contextlib.closing(server.connect()) as conn, \
                        contextlib.closing(conn.cursor()) as cur:
                    cur.execute("SELECT range AS i FROM range(1000000)")
                    table = cur.fetch_arrow_table()
                self.assertEqual(
                    pyarrow.compute.sum(table["i"]).as_py(), 499999500000)
                self.assertEqual(server.stop(), 0)

    def test_a_uri_names_host_and_port(self):
        server = Server("duckdb", "--anybody", "--transport", "tcp")
        port = server.uri.rsplit(":", 1)[1]
        server.uri = f"weir://127.0.0.1:{port}"
        with contextlib.closing(server.connect()) as conn, \
                contextlib.closing(conn.cursor()) as cur:
            cur.execute("SELECT 7 AS i")
            self.assertEqual(cur.fetchall(), [(7,)])
        self.assertEqual(server.stop(), 0)

    def test_nobody_there_is_an_error_with_the_address(self):
        with contextlib.closing(dbapi.connect(
                driver=DRIVER, autocommit=True,
                db_kwargs={"uri": "tcp:127.0.0.1:1"})) as conn, \
                contextlib.closing(conn.cursor()) as cur:
            with self.assertRaisesRegex(dbapi.Error, "127.0.0.1:1"):
                cur.execute("SELECT 1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
