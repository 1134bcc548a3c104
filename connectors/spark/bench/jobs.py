# SPDX-License-Identifier: Apache-2.0
"""jobs.py [ROUNDS [JOB...]]: jobs of Spark on two executors of one host, whose
blocks go over Netty, are read from the other one's files, or come over Weir by
shm or tcp. In each round each way starts an application; these take turns, job
by job, as the machine's speed may change: each job WARM times (the second run
of GroupBy took 1.3 to 1.5 times as long as the third) and then REPEATS times,
which are measured. What a job has computed is compared with what the others
have. WAYS=netty,shm: these alone.

    wall   of the driver, s
    CPU    of the executors' processes, without their compilers, s
    wait   share of the reducers' time in which they waited for blocks
    faults pages that the executors touched for the first time, in thousands
    RSS    most memory of an executor so far, MiB; with shared memory"""

import json
import multiprocessing
import os
import statistics
import sys
import time
import urllib.request

from cluster import App

JAR = os.environ["WEIR_SPARK_JAR"]
WEIR = {"shuffle.manager": "io.weir.spark.WeirShuffleManager",
        "plugins": "io.weir.spark.WeirPlugin"}
SORT = {"shuffle.manager": "sort", "plugins": ""}
WAYS = {"netty": SORT,
        "shm": dict(WEIR, **{"weir.transport": "shm"}),
        "tcp": dict(WEIR, **{"weir.transport": "tcp"}),
        "files": dict(SORT, **{"shuffle.readHostLocalDisk": "true"})}
WAYS = {w: WAYS[w] for w in os.environ.get("WAYS", ",".join(WAYS)).split(",")}
REPEATS = 3
WARM = 3
KIB = ", ".join(f"sha2(string(id * 8 + {i}), 512)" for i in range(8))


def rows(spark, n, parts, *columns):
    return spark.range(0, n, 1, parts).selectExpr(*columns)


def groupby(spark):
    """As OSU's: all values of a key in one place."""
    pairs = rows(spark, 600000, 8, "hash(id) % 20000 k",
                 "sha2(string(id), 512) v")
    return (pairs.groupBy("k").agg({"v": "collect_list"})
            .selectExpr("sum(aggregate(`collect_list(v)`, 0L, "
                        "(a, x) -> a + crc32(x)))",
                        "count(*)").collect())


def terasort(spark):
    """Rows of 10 and 90 bytes, in order."""
    found = (rows(spark, 800000, 8, "substr(sha2(string(id), 256), 1, 10) k",
                  "substr(sha2(string(-id), 512), 1, 90) v")
             .sort("k").selectExpr("spark_partition_id() p", "k",
                                   "crc32(concat(k, v)) c")
             .groupBy("p").agg({"k": "first", "c": "sum"}).collect())
    by_part = [r["first(k)"] for r in sorted(found, key=lambda r: r["p"])]
    assert by_part == sorted(by_part)
    return sum(r["sum(c)"] for r in found)


def pagerank(spark):
    """In whole numbers, so that the order of a sum does not matter."""
    edges = rows(spark, 200000, 4, "hash(id) & 16383 a",
                 "hash(id, 7) & 16383 b").cache()
    degree = edges.groupBy("a").count()
    rank = rows(spark, 16384, 4, "id a", "1000000000L r")
    for _ in range(4):
        rank = (edges.join(degree, "a").join(rank, "a")
                .selectExpr("b a", "r div count r").groupBy("a")
                .sum("r").selectExpr("a", "150000000L + `sum(r)` * 85 div 100 "
                                     "r"))
    found = rank.selectExpr("sum(r)", "count(*)", "sum(crc32(string(r)))")
    result = found.collect()
    edges.unpersist(True)
    return result


def repartition(spark):
    """1 GB in rows of 1 kB."""
    return (rows(spark, 1000000, 8, f"concat({KIB}) v").repartition(8)
            .selectExpr("sum(crc32(v))", "count(*)").collect())


def small(spark):
    """64 x 64 blocks."""
    return (rows(spark, 64 * 64 * 40, 64, "id", "sha2(string(id), 256) v")
            .repartition(64).selectExpr("sum(crc32(v))", "sum(id)").collect())


JOBS = {f.__name__: f for f in (groupby, terasort, pagerank, repartition,
                                small)}


def start(way):
    app = App(None, JAR, **{"sql.autoBroadcastJoinThreshold": "-1",
                            "sql.adaptive.coalescePartitions.enabled": "false",
                            "shuffle.readHostLocalDisk": "false",
                            "ui.liveUpdate.period": "100ms",
                            "executor.memory": "1g",
                            "executor.extraJavaOptions":
                            "-XX:-UseDynamicNumberOfCompilerThreads",
                            **WAYS[way]})
    app.ready(2)
    return app


def executors(app):
    """Their processes."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as f:
                line = f.read()
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in line and \
                app.sc.applicationId in line and "/java\0" in line:
            found.append(pid)
    assert len(found) == 2, found
    return found


def ticks(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        name, rest = f.read().rsplit(")", 1)
    fields = rest.split()
    return name, int(fields[11]) + int(fields[12])


def cpu(pids):
    """Seconds, without the threads that compile."""
    n = 0
    for pid in pids:
        n += ticks(f"/proc/{pid}/stat")[1]
        for thread in os.listdir(f"/proc/{pid}/task"):
            try:
                name, t = ticks(f"/proc/{pid}/task/{thread}/stat")
            except (FileNotFoundError, ProcessLookupError):
                continue  # has ended; compilers do not
            if "CompilerThre" in name:
                n -= t
    return n / os.sysconf("SC_CLK_TCK")


def faults(pids):
    n = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            n += int(f.read().rsplit(")", 1)[1].split()[7])
    return n / 1000


def most_memory(pids):
    most = 0
    for pid in pids:
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            most = max(most, *(int(line.split()[1]) / 1024 for line in f
                               if line.startswith("VmHWM:")))
    return most


def stages(app):
    app.jsc.listenerBus().waitUntilEmpty()
    url = (f"{app.sc.uiWebUrl}/api/v1/applications/{app.sc.applicationId}"
           "/stages?status=complete")
    with urllib.request.urlopen(url) as reply:
        return json.load(reply)


def measure(app, pids, job):
    known = {s["stageId"] for s in stages(app)}
    before = cpu(pids)
    touched = faults(pids)
    begin = time.monotonic()
    result = job(app.spark)
    wall = time.monotonic() - begin
    used = cpu(pids) - before
    touched = faults(pids) - touched
    reads = [s for s in stages(app) if s["stageId"] not in known
             and s["shuffleReadBytes"] > 0]
    waits = sum(s["shuffleFetchWaitTime"] for s in reads)
    runs = sum(s["executorRunTime"] for s in reads)
    return result, {"wall": wall, "CPU": used, "wait": waits / max(runs, 1),
                    "faults": touched, "RSS": most_memory(pids)}


def check_way(app, way):
    """That blocks went by the way that it is about."""
    if way in ("shm", "tcp"):
        m = app.metrics().values()
        assert sum(e["fallback"] for e in m) == 0, m
        name = "bytesShm" if way == "shm" else "bytesNetwork"
        assert sum(e[name] for e in m) > 1 << 20, m
    else:
        remote = sum(s["shuffleRemoteBytesRead"] for s in stages(app))
        assert (remote > 1 << 20) == (way == "netty"), remote


def serve(way, pipe):
    """An application, in a process of its own: does what it is told."""
    with start(way) as app:
        pids = executors(app)
        pipe.send("ready")
        for name in iter(pipe.recv, None):
            pipe.send(measure(app, pids, JOBS[name]))
            app.forget_shuffles()  # as if the driver had collected them
        check_way(app, way)
    pipe.send("done")


def one_round(jobs, results, all_found):
    spawn = multiprocessing.get_context("spawn")
    pipes = {}
    for way in WAYS:
        pipes[way], theirs = spawn.Pipe()
        spawn.Process(target=serve, args=(way, theirs), daemon=True).start()
        theirs.close()  # its end is seen
        pipes[way].recv()
    for name in jobs:
        for i in range(-WARM, REPEATS):
            for way, pipe in pipes.items():
                pipe.send(name)
                result, found = pipe.recv()
                assert results.setdefault(name, result) == result, \
                    (way, name, result, results[name])
                if i >= 0:
                    said = ", ".join(f"{k} {v:.3f}" for k, v in found.items())
                    print(f"{name} {way}: {said}", flush=True)
                    all_found.setdefault((name, way), []).append(found)
    for pipe in pipes.values():
        pipe.send(None)
        pipe.recv()


def report(jobs, all_found):
    """Medians; ratios are of two jobs of the same turn."""
    for name in jobs:
        for way in WAYS:
            found = all_found[name, way]
            m = {k: statistics.median(f[k] for f in found) for k in found[0]}
            walls = sorted(f["wall"] for f in found)
            print(f"{name:12} {way:6} {m['wall']:6.2f} s ({walls[0]:.2f} .. "
                  f"{walls[-1]:.2f})  CPU {m['CPU']:6.2f} s  wait "
                  f"{100 * m['wait']:4.1f} %  faults {m['faults']:5.1f}  "
                  f"RSS {m['RSS']:5.0f}")
        others = [w for w in WAYS if w != "netty"] if "netty" in WAYS else []
        for way in others:
            pairs = list(zip(all_found[name, "netty"], all_found[name, way]))
            for key, label in (("wall", ""), ("CPU", "-cpu")):
                ratios = sorted(n[key] / f[key] for n, f in pairs)
                print(f"netty/{way} {name}{label} "
                      f"{statistics.median(ratios):.2f} "
                      f"({ratios[0]:.2f} .. {ratios[-1]:.2f})")


def main(rounds, jobs):
    results = {}
    all_found = {}
    for _ in range(rounds):
        one_round(jobs, results, all_found)
    report(jobs, all_found)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3,
         sys.argv[2:] or list(JOBS))
