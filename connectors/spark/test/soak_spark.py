# SPDX-License-Identifier: Apache-2.0
"""soak_spark.py [JOBS [SEED]]: jobs on three executors, one of which is killed
at a random moment of each. Answers are right, nothing hangs, and no region is
left."""

import os
import random
import signal
import sys
import threading
import time

from cluster import App, Cluster
from test_spark import JAR, combine, group, join, repartition, sort

QUERIES = (group, sort, join, repartition, combine)


def one(app, query, delay):
    """Returns how long it took, and who was killed."""
    victim, m = random.choice(sorted(app.metrics().items()))
    killer = threading.Timer(delay, os.kill, (m["pid"], signal.SIGKILL))
    begin = time.monotonic()
    killer.start()
    query(app)
    took = time.monotonic() - begin
    killer.join()
    return took, victim


def main(jobs, seed):
    random.seed(seed)
    cluster = Cluster()
    killed_inside = 0
    least = {}
    with App(cluster, JAR, weir__transport="auto", cores__max="3",
             stage__maxConsecutiveAttempts="20",
             task__maxFailures="20") as app:
        for i in range(jobs):
            query = QUERIES[i % len(QUERIES)]
            begin = time.monotonic()
            query(app)
            alone = time.monotonic() - begin
            # The first runs of a query are longer than all others.
            least[query] = min(alone, least.get(query, alone))
            delay = random.uniform(0, least[query])
            took, victim = one(app, query, delay)
            least[query] = min(took, least[query])
            killed_inside += delay < took
            print(f"{i + 1}: {query.__name__}, {alone:.2f} s alone, {took:.2f} "
                  f"s with executor {victim} killed after {delay:.2f} s",
                  flush=True)
            app.replaced(victim)
        blocks = app.total("bytesShm")
        app.forget_shuffles()
        left = app.total("regions"), app.total("lent")
    cluster.close()
    assert left == (0, 0), left
    assert killed_inside > jobs // 2 and blocks > 0
    print(f"{jobs} jobs, seed {seed}: all answers right, {killed_inside} "
          f"executors killed under way, no region left")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30,
         int(sys.argv[2]) if len(sys.argv) > 2 else 1)
