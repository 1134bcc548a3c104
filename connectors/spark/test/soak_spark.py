# SPDX-License-Identifier: Apache-2.0
"""soak_spark.py [JOBS [SEED]]: jobs on three executors, one of which is killed
at a random moment of each. Answers are right, nothing hangs, and no region is
left. Moments are counted in starts and ends of tasks, so that a job that takes
longer or shorter than the one before is hit nevertheless."""

import os
import random
import signal
import sys
import threading
import time

from pyspark import java_gateway

from cluster import App, Cluster
from test_spark import JAR, combine, group, join, repartition, sort

QUERIES = (group, sort, join, repartition, combine)


class Moments:
    """A listener of Spark's: counts starts and ends of tasks, and kills a
    process a little after one of them."""

    class Java:
        implements = ["org.apache.spark.scheduler.SparkListenerInterface"]

    def __init__(self, app):
        self.bus = app.jsc.listenerBus()
        self.reset()
        java_gateway.ensure_callback_server_started(app.sc._gateway)
        app.jsc.addSparkListener(self)

    def __getattr__(self, name):
        """All events that are not of interest."""
        if not name.startswith("on"):
            raise AttributeError(name)
        return lambda *_: None

    def reset(self, at=0, delay=0, pid=0):
        self.bus.waitUntilEmpty()
        self.count, self.at, self.pid, self.killed = 0, at, pid, None
        self.killer = threading.Timer(delay, self.kill)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.killed = time.monotonic()

    def happened(self, _):
        self.count += 1
        if self.count == self.at:
            self.killer.start()

    onTaskStart = onTaskEnd = happened


def alone(app, moments, query):
    """Of an undisturbed run: how many moments it has, and how long one is."""
    moments.reset()
    begin = time.monotonic()
    query(app)
    took = time.monotonic() - begin
    moments.bus.waitUntilEmpty()
    return moments.count, took / moments.count


def disturbed(app, moments, query, at, delay):
    """Who was killed, and whether that was while the query ran."""
    victim, m = random.choice(sorted(app.metrics().items()))
    moments.reset(at, delay, m["pid"])
    query(app)
    ended = time.monotonic()
    moments.bus.waitUntilEmpty()
    if moments.count < at:  # it had fewer moments than before
        moments.killer.start()
    moments.killer.join()
    return victim, moments.killed < ended


def main(jobs, seed):
    random.seed(seed)
    killed_inside = 0
    with Cluster() as cluster, \
            App(cluster, JAR, weir__transport="auto", cores__max="3",
                stage__maxConsecutiveAttempts="20",
                task__maxFailures="20") as app:
        moments = Moments(app)
        for i in range(jobs):
            query = QUERIES[i % len(QUERIES)]
            n, length = alone(app, moments, query)
            at = random.randrange(1, n)  # not when its last task has ended
            delay = random.uniform(0, length)
            victim, inside = disturbed(app, moments, query, at, delay)
            killed_inside += inside
            print(f"{i + 1}: {query.__name__}, executor {victim} killed "
                  f"{delay:.3f} s after start or end {at} of {n} of tasks"
                  f"{'' if inside else ', too late'}", flush=True)
            app.replaced(victim)
        blocks = app.total("bytesShm")
        app.forget_shuffles()
        left = app.total("regions"), app.total("lent")
    assert left == (0, 0), left
    assert killed_inside > jobs * 3 // 4 and blocks > 0, killed_inside
    print(f"{jobs} jobs, seed {seed}: all answers right, {killed_inside} "
          f"executors killed under way, no region left")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30,
         int(sys.argv[2]) if len(sys.argv) > 2 else 1)
