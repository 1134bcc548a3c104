# SPDX-License-Identifier: Apache-2.0
"""The plug-in under a Spark: answers, what went over what, what is left."""

import hashlib
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

from cluster import PATIENCE_S, App, Cluster

JAR = os.environ["WEIR_SPARK_JAR"]
WEIR = os.environ["WEIR_COMMAND"]
MACHINE = {"x86_64": "amd64"}.get(platform.machine(), platform.machine())
ROWS = 200000
# A row is its number, a key, and some text that does not compress away.
ROW = ("id", "id % 1000 k", "sha2(string(id), 256) t")


def rows(app, parts=6, n=ROWS):
    return app.spark.range(0, n, 1, parts).selectExpr(*ROW)


def group(app):
    got = (rows(app).groupBy("k").agg({"id": "sum", "t": "max"})
           .selectExpr("sum(`sum(id)`)", "count(*)").collect()[0])
    assert tuple(got) == (ROWS * (ROWS - 1) // 2, 1000), got


def sort(app):
    got = [r.t for r in rows(app).select("t").sort("t").collect()]
    assert len(got) == ROWS and got == sorted(got)


def join(app):
    a = rows(app)
    b = rows(app, 4).selectExpr("id * 2 id", "t u").hint("merge")
    got = (a.join(b, "id").selectExpr("count(*)", "sum(id)").collect()[0])
    n = ROWS // 2
    assert tuple(got) == (n, n * (n - 1)), got


def repartition(app):
    """Every byte arrives: a sum over all of the text."""
    sums = [d.selectExpr("sum(crc32(t))", "count(*)").collect()[0]
            for d in (rows(app), rows(app).repartition(7))]
    assert sums[0] == sums[1], sums


def combine(app):
    """RDDs: combined on the map side, and sorted by key."""
    pairs = app.sc.parallelize(range(20000), 4).map(lambda x: (x % 100, x))
    assert dict(pairs.reduceByKey(lambda a, b: a + b, 5).collect()) == {
        k: sum(range(k, 20000, 100)) for k in range(100)}
    keys = [k for k, _ in pairs.sortByKey(numPartitions=5).collect()]
    assert keys == sorted(keys) and len(keys) == 20000


def empty(app):
    """60 partitions for 3 keys: most blocks are empty."""
    got = (app.spark.range(0, 3000, 1, 4).selectExpr("id % 3 k")
           .repartition(60, "k").groupBy("k").count().collect())
    assert sorted(tuple(r) for r in got) == [(k, 1000) for k in range(3)]
    nothing = app.spark.range(0, 100, 1, 4).where("id < 0").repartition(5)
    assert nothing.count() == 0


def coalesced(app):
    """AQE makes few partitions of many: ranges of blocks are fetched."""
    app.spark.conf.set("spark.sql.shuffle.partitions", "60")
    try:
        grouped = rows(app).groupBy("k").count()
        assert grouped.where("count != 200").count() == 0
        assert grouped.rdd.getNumPartitions() < 60
    finally:
        app.spark.conf.set("spark.sql.shuffle.partitions", "8")


def skewed(app):
    """AQE splits a skewed partition by map outputs."""
    for name, value in (("skewedPartitionThresholdInBytes", "200k"),
                        ("skewedPartitionFactor", "1.5")):
        app.spark.conf.set("spark.sql.adaptive.skewJoin." + name, value)
    app.spark.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes",
                       "100k")
    a = rows(app).selectExpr("if(id % 10 = 0, id % 1000, 7) k", "t")
    b = app.spark.range(0, 1000, 1, 4).selectExpr("id k", "id v")
    joined = a.hint("merge").join(b.hint("merge"), "k")
    summed = joined.groupBy().agg({"v": "sum", "t": "count"})
    got = summed.collect()[0]
    one = sum(7 if i % 10 else i % 1000 for i in range(ROWS))
    assert sorted(tuple(got)) == sorted((ROWS, one)), got
    plan = summed._jdf.queryExecution().executedPlan().toString()
    assert "SortMergeJoin(skew=true)" in plan, plan


QUERIES = (group, sort, join, repartition, combine, empty, coalesced, skewed)


class Spark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def app(self, **options):
        return App(self.cluster, JAR, **options)

    def check_ways(self, app, way, killed=False):
        """All that Spark read from elsewhere came over Weir, by that way; it
        does not count what tasks have read that were killed."""
        remote = app.remote_bytes()
        other = "bytesNetwork" if way == "bytesShm" else "bytesShm"
        m = app.metrics()
        total = {n: sum(e[n] for e in m.values()) for n in m["0"]}
        self.assertEqual(len(m), 2)
        self.assertEqual(total["fallback"], 0, total)
        self.assertGreater(total[way], 5 << 20)
        if killed:
            self.assertGreaterEqual(total[way], remote)
        else:
            self.assertEqual(total[way], remote)
        self.assertEqual(total[other], 0)

    def check_nothing_is_left(self, app):
        # The driver may have collected all others meanwhile.
        held = app.sc.parallelize(range(1000), 4).map(
            lambda x: (x % 10, x)).groupByKey(4)
        self.assertEqual(held.count(), 10)
        self.assertGreater(app.total("regions"), 0)
        app.forget_shuffles()
        self.assertEqual(app.total("regions"), 0)
        # Spark does not wait for tasks that it has killed, nor their blocks.
        end = time.monotonic() + PATIENCE_S
        while app.total("lent") > 0 and time.monotonic() < end:
            time.sleep(0.2)
        self.assertEqual(app.total("lent"), 0)

    def test_shm_and_lz4(self):
        # Map outputs are read in memory and, where they are large, in files.
        with self.app(weir__transport="auto", weir__mapFrom="16k") as app:
            for query in QUERIES:
                with self.subTest(query=query.__name__):
                    query(app)
            self.check_ways(app, "bytesShm")
            self.assertGreater(app.total("outputsInMemory"), 0)
            self.assertGreater(app.total("outputsMapped"), 0)
            self.check_nothing_is_left(app)

    def test_tcp_zstd_and_encryption(self):
        # Spark's own small cluster has the secret, too.
        with App(None, JAR, weir__transport="tcp", authenticate="true",
                 authenticate__secret="s3cret", io__encryption__enabled="true",
                 io__compression__codec="zstd") as app:
            for query in (group, sort, repartition, empty, coalesced, skewed):
                with self.subTest(query=query.__name__):
                    query(app)
            self.check_ways(app, "bytesNetwork")
            self.check_the_secret(app, "--plain")
            self.check_nothing_is_left(app)

    def test_tcp_is_tls_where_spark_encrypts(self):
        with App(None, JAR, weir__transport="tcp", authenticate="true",
                 authenticate__secret="s3cret",
                 network__crypto__enabled="true") as app:
            for query in (group, repartition):
                with self.subTest(query=query.__name__):
                    query(app)
            self.check_ways(app, "bytesNetwork")
            self.check_the_secret(app)
            self.assertIn("the peer wants TLS",
                          self.peer_says(app, True, "--plain"))

    def check_the_secret(self, app, *options):
        """Nodes let in whoever knows what is made of Spark's, nobody else."""
        self.assertIn("a connection opens",
                      self.peer_says(app, True, *options))
        self.assertIn("does not know the secret",
                      self.peer_says(app, False, *options))

    def peer_says(self, app, good, *options):
        """To one with the secret, or another one: a line of the doctor's."""
        address = re.search(r"Weir: executor 0 at (\S+), transport tcp",
                            app.local_logs()).group(1)
        # Spark's small cluster makes one of its own for its executors.
        with open(f"/proc/{app.metrics()['0']['pid']}/environ", "rb") as env:
            secret = dict(v.split(b"=", 1) for v in env.read().split(b"\0")
                          if b"=" in v)[b"_SPARK_AUTH_SECRET"]
        made = hashlib.sha256(b"weir spark shuffle\0" + secret)
        if not good:
            made.update(b"!")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "secret")
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600),
                      "w", encoding="ascii") as file:
                file.write(made.hexdigest() + "\n")
            said = subprocess.run(
                [WEIR, "doctor", "--transport", "tcp", "--peer", address,
                 "--timeout", "10", "--secret-file", path, *options],
                stdout=subprocess.PIPE, text=True, check=False).stdout
        (line,) = re.findall(r"(?m)^\S+ +peer .*$", said)
        return line

    def test_small_budgets_snappy_and_speculation(self):
        # Little may be lent or under way: gets wait, and blocks are copied.
        with self.app(io__compression__codec="snappy", speculation="true",
                      speculation__quantile="0.1", weir__copyBelow="1k",
                      speculation__multiplier="1.01",
                      weir__maxBytesInFlight="1m") as app:
            for query in (group, join, repartition, coalesced):
                with self.subTest(query=query.__name__):
                    query(app)
            self.check_ways(app, "bytesShm", killed=True)
            self.check_a_slow_executor_is_asked(app)
            self.assertGreater(app.total("blocksCopied"), 0)
            self.assertGreater(app.total("blocksLent"), 0)
            self.check_nothing_is_left(app)

    def check_a_slow_executor_is_asked(self, app):
        """Its answer is waited for, nobody else's is taken instead."""
        pid = app.metrics()["0"]["pid"]
        os.kill(pid, signal.SIGSTOP)
        # Until then Spark would have found another one long ago.
        goes_on = threading.Timer(3, os.kill, (pid, signal.SIGCONT))
        goes_on.start()
        self.assertEqual(set(app.metrics()), {"0", "1"})
        goes_on.join()

    def test_a_peer_without_the_plug_in(self):
        """Two executors have libweir, a third one comes that has not."""
        with tempfile.TemporaryDirectory() as folder:
            name = f"weir-native/{MACHINE}/libweir_spark.so"
            library = zipfile.ZipFile(JAR).extract(name, folder)
            with self.app(weir__library=library, weir__transport="tcp",
                          cores__max="3") as app:
                repartition(app)
                self.assertEqual(app.total("fallback"), 0)
                os.remove(library)
                gone = app.kill()
                app.replaced(gone)
                before = app.metrics()
                (fresh,) = [e for e, m in before.items()
                            if m["registrations"] == 0]
                self.assertEqual(len(before), 3)
                for query in (repartition, group, join):
                    query(app)
                after = app.metrics()
                for e, m in after.items():
                    more = {n: m[n] - before[e][n] for n in m}
                    if e == fresh:
                        self.assertEqual(m["blocks"], 0)
                        self.assertGreater(m["fallback.unavailable"], 0)
                    else:
                        self.assertGreater(more["bytesNetwork"], 0)
                        self.assertGreater(more["fallback.no-address"], 0)
                        self.assertEqual(m["fallback.unavailable"], 0)
        self.assertIn("all blocks come over Spark's own transfer: no native "
                      "library", self.cluster.logs())

    def test_a_refused_registration_is_no_error(self):
        # The node opens, and has no room for the indexes of many shuffles.
        with self.app(weir__memory="700k", weir__transport="auto") as app:
            for _ in range(10):
                repartition(app)
            m = app.metrics().values()
            self.assertGreater(sum(e["bytesShm"] for e in m), 0)
            self.assertGreater(sum(e["fallback.not-published"] for e in m), 0)
        self.assertIn("for a region, on top of", self.cluster.logs())

    def test_executors_that_are_killed_and_decommissioned(self):
        with self.app(stage__maxConsecutiveAttempts="8",
                      decommission__enabled="true",
                      storage__decommission__enabled="true",
                      storage__decommission__shuffleBlocks__enabled="true",
                      storage__decommission__replicationReattemptInterval="1s"
                      ) as app:
            pairs = app.sc.parallelize(range(60000), 6).map(
                lambda x: (x % 100, x)).groupByKey(6)
            want = {k: sum(range(k, 60000, 100)) for k in range(100)}
            self.assertEqual(dict(pairs.mapValues(sum).collect()), want)
            self.check_no_library_is_left(app)
            gone = app.kill()
            # The map outputs of the first job are used again.
            self.assertEqual(dict(pairs.mapValues(sum).collect()), want)
            app.replaced(gone)
            for delay in (0.3, 1.2):  # in the middle
                victim, m = max(app.metrics().items())
                killer = threading.Timer(delay, os.kill,
                                         (m["pid"], signal.SIGKILL))
                killer.start()
                join(app)
                killer.join()
                app.replaced(victim)
            self.decommission(app, pairs, want)
            app.forget_shuffles()
            self.assertEqual(app.total("regions"), 0)

    def check_no_library_is_left(self, app):
        """The native library's file is gone, whatever ends its executor."""
        for executor, m in app.metrics().items():
            with open(f"/proc/{m['pid']}/maps", encoding="utf-8") as maps:
                loaded = {line.split(None, 5)[5].strip() for line in maps
                          if "libweir_spark" in line}
            self.assertEqual(len(loaded), 1, executor)
            for path in loaded:
                self.assertTrue(path.endswith(".so (deleted)"), path)
                self.assertFalse(path.startswith(
                    tempfile.gettempdir() + "/libweir_spark"), path)

    def decommission(self, app, pairs, want):
        self.assertEqual(dict(pairs.mapValues(sum).collect()), want)
        info = app.sc._jvm.org.apache.spark.scheduler \
            .ExecutorDecommissionInfo("test", app.sc._jvm.scala.Option.empty())
        gone = sorted(app.metrics())[0]
        app.jsc.schedulerBackend().decommissionExecutor(gone, info, False,
                                                        False)
        end = time.monotonic() + PATIENCE_S
        while gone in app.ids() and time.monotonic() < end:
            time.sleep(0.2)
        self.assertNotIn(gone, app.ids())
        self.assertEqual(dict(pairs.mapValues(sum).collect()), want)

    def test_dynamic_allocation(self):
        with self.app(dynamicAllocation__enabled="true",
                      dynamicAllocation__shuffleTracking__enabled="true",
                      dynamicAllocation__initialExecutors="2",
                      dynamicAllocation__minExecutors="1",
                      dynamicAllocation__executorIdleTimeout="1s") as app:
            group(app)
            app.forget_shuffles()
            end = time.monotonic() + PATIENCE_S
            while app.running() > 1 and time.monotonic() < end:
                time.sleep(0.2)
            self.assertEqual(app.running(), 1)
            repartition(app)
            group(app)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.argv.append("-v")
    unittest.main(failfast=False)
