# SPDX-License-Identifier: Apache-2.0
"""A standalone master, with workers on 127.0.0.1 and 127.0.0.2, which are two
hosts to Spark, and applications on it."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

HOME = os.path.dirname(pyspark.__file__)
HOSTS = ["127.0.0.1", "127.0.0.2"]
# These processes spend their lives starting: the first compiler is enough.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Until that nothing hangs, however busy the machine is.
PATIENCE_S = 240


def logs_below(folder):
    text = ""
    for base, _, files in os.walk(folder):
        if "stderr" in files:
            with open(os.path.join(base, "stderr"), encoding="utf-8",
                      errors="replace") as log:
                text += log.read()
    return text


class Cluster:
    def __init__(self, cores=2):
        self.dir = tempfile.TemporaryDirectory(prefix="weir-spark-")
        self.processes = []
        try:
            self._start_all(cores)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _start_all(self, cores):
        log = self._start("master", "org.apache.spark.deploy.master.Master",
                          "--host", HOSTS[0], "--port", "0",
                          "--webui-port", "0")
        self.url = self._wait(log, "Starting Spark master at ").strip()
        for host in HOSTS:
            log = self._start(host, "org.apache.spark.deploy.worker.Worker",
                              "--host", host, "--webui-port", "0", "--cores",
                              str(cores), "--memory", "4g", "--work-dir",
                              os.path.join(self.dir.name, "work-" + host),
                              self.url)
            self._wait(log, "Successfully registered with master")

    def _start(self, name, *args):
        path = os.path.join(self.dir.name, name + ".log")
        env = dict(os.environ, SPARK_LOCAL_IP=HOSTS[0], SPARK_HOME=HOME,
                   SPARK_NO_DAEMONIZE="1", SPARK_DAEMON_MEMORY="256m",
                   SPARK_DAEMON_JAVA_OPTS=SHORT_LIVED)
        with open(path, "w", encoding="utf-8") as out:
            self.processes.append(subprocess.Popen(
                [os.path.join(HOME, "bin", "spark-class"), *args], stdout=out,
                stderr=subprocess.STDOUT, env=env))
        return path

    @staticmethod
    def _wait(path, text):
        """What follows the text in a line of a log."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            with open(path, encoding="utf-8") as log:
                for line in log:
                    if text in line and line.endswith("\n"):
                        return line.split(text, 1)[1]
            time.sleep(0.05)
        raise TimeoutError(f"{path} does not say '{text}'")

    def logs(self):
        """What all executors have said."""
        return logs_below(self.dir.name)

    def close(self):
        for p in reversed(self.processes):
            p.send_signal(signal.SIGTERM)
        for p in self.processes:
            p.wait(PATIENCE_S)
        self.dir.cleanup()


def start_driver(jar):
    """The driver's process, once. It keeps for all applications the options
    that it is started with, so these are none."""
    os.environ["PYSPARK_SUBMIT_ARGS"] = \
        f"--driver-class-path {jar} " \
        f"--driver-java-options '{SHORT_LIVED}' pyspark-shell"
    SparkContext._ensure_initialized()


class App:
    """An application, `with` ends it; without a cluster on one of its own,
    all of whose executors are of one host."""

    def __init__(self, cluster, jar, **options):
        master = cluster.url if cluster else "local-cluster[2,1,1024]"
        b = (SparkSession.builder.master(master).appName("weir")
             .config("spark.jars", jar)
             .config("spark.executor.extraClassPath", jar)
             .config("spark.executor.extraJavaOptions", SHORT_LIVED)
             .config("spark.shuffle.manager",
                     "io.weir.spark.WeirShuffleManager")
             .config("spark.plugins", "io.weir.spark.WeirPlugin")
             .config("spark.driver.host", HOSTS[0])
             # A peer that is gone is soon given up.
             .config("spark.shuffle.io.retryWait", "200ms")
             .config("spark.shuffle.io.maxRetries", "1")
             .config("spark.executor.memory", "600m")
             .config("spark.executor.cores", "1")
             .config("spark.cores.max", "2")
             .config("spark.ui.port", "0")
             .config("spark.ui.showConsoleProgress", "false")
             .config("spark.ui.liveUpdate.period", "0")
             .config("spark.shuffle.readHostLocalDisk", "false")
             # Reducers go anywhere; what asks for metrics goes where it must.
             .config("spark.locality.wait", "30s")
             .config("spark.shuffle.reduceLocality.enabled", "false")
             .config("spark.cleaner.periodicGC.interval", "1h")
             .config("spark.sql.shuffle.partitions", "8"))
        start_driver(jar)
        for name, value in options.items():
            b = b.config("spark." + name.replace("__", "."), value)
        self.spark = b.getOrCreate()
        self.sc = self.spark.sparkContext
        self.jsc = self.sc._jsc.sc()
        self.executors = int(options.get("cores__max", 2))
        # Without a cluster. Others may use the same Spark now.
        self.local_dir = os.path.join(HOME, "work", self.sc.applicationId)

    def __enter__(self):
        try:
            self.ready(self.executors)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.spark.stop()
        shutil.rmtree(self.local_dir, ignore_errors=True)

    def local_logs(self):
        """What executors have said, without a cluster."""
        return logs_below(self.local_dir)

    def running(self):
        return self.jsc.getExecutorMemoryStatus().size() - 1

    def ready(self, n):
        end = time.monotonic() + PATIENCE_S
        while self.running() < n:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.running()} of {n} executors")
            time.sleep(0.05)

    def ids(self):
        """Of executors that run."""
        text = self.jsc.getExecutorIds().mkString(",")
        return set(text.split(",")) if text else set()

    def kill(self, executor=None):
        """Kill the process of an executor, one of them if none is named."""
        known = self.metrics()
        gone = executor or sorted(known)[0]
        os.kill(known[gone]["pid"], signal.SIGKILL)
        return gone

    def replaced(self, gone):
        """Another one has come for an executor that was killed."""
        end = time.monotonic() + PATIENCE_S
        while gone in self.ids() or len(self.ids()) < self.executors:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.ids()}, {gone} was killed")
            time.sleep(0.05)
        self.ready(self.executors)

    def metrics(self):
        """Of each executor."""
        report = self.sc._jvm.io.weir.spark.Report.ofExecutors(self.sc._jsc)
        return {e: dict(m) for e, m in dict(report).items()}

    def total(self, name):
        return sum(m[name] for m in self.metrics().values())

    def remote_bytes(self):
        """What Spark has counted as read from other executors."""
        self.jsc.listenerBus().waitUntilEmpty()
        url = (f"{self.sc.uiWebUrl}/api/v1/applications/"
               f"{self.sc.applicationId}/stages")
        with urllib.request.urlopen(url) as reply:
            return sum(s["shuffleRemoteBytesRead"] for s in json.load(reply))

    def forget_shuffles(self):
        """As Spark does when nothing refers to them any more."""
        for i in range(200):
            self.jsc.cleaner().get().doCleanupShuffle(i, True)
