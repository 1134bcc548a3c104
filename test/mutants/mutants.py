# SPDX-License-Identifier: Apache-2.0
"""mutants.py [--count 200] [--seed 1] [--minutes M] [FILE ...]: are the tests
any good? Breaks core/ and transport/{sim,shm,tcp} in one place at a time, in a
copy of the tree at HEAD (build/mutants), and runs the unit, conformance and
simulator tests until one of them fails. What none notices is a survivor.

  draw --> change a line --> compile --> same object? draw again
                                |
                                +--> tests, the nearest first --> killed, or not

Weakened memory orders are run under ThreadSanitizer, the rest plainly. Results
are kept in build/mutants/results.jsonl: a run that was broken off goes on where
it stopped. The survivors are listed in build/mutants/report.md; those in
test/mutants/explained.txt (a line `key | reason`) change nothing that a test
could see. Exit status 1: fewer than 90 in 100 were killed.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import candidates

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
RESULTS = WORK / "results.jsonl"
SHARES = {"comparison": 25, "off by one": 12, "store": 20, "wake": 10,
          "check": 23, "order": 10}
LEAST = 0.90
# Whole clusters in the simulator: cheap, and they find most.
CLUSTERS = "weir sim --as-is --seeds 1..600"
# What finds most comes first, after the tests that are nearest to the file.
SUITES = [CLUSTERS, "conformance.refused", "conformance.api_sim",
          "conformance.sim", "conformance.post", "conformance.seed",
          "conformance.lookup", "conformance.filter", "conformance.hostile",
          "conformance.loss", "conformance.identity",
          "conformance.hostile_identity", "conformance.region_shm",
          "conformance.region_tcp", "conformance.shm", "conformance.tcp",
          "conformance.spi_tcp", "conformance.api_shm", "conformance.api_tcp",
          "conformance.fetch_close", "conformance.storm",
          "conformance.offence", "conformance.region_sim", "unit.operators"]
TSAN_SUITES = ["conformance.shm", "conformance.tcp", "conformance.spi_tcp",
               "conformance.region_shm", "conformance.region_tcp",
               "conformance.api_shm", "conformance.api_tcp",
               "conformance.fetch_close"]


def nearest(path):
    """The tests next to a source, by its folder."""
    room = path.split("/")[1]
    if path.startswith("core/"):
        near = [f"unit.core.{room}"]
        if room == "region":
            near = ["conformance.region_shm", "conformance.fetch_close"]
    else:
        near = ["unit.transport", f"conformance.{room}",
                f"conformance.api_{room}"]
        near += ["unit.sim_harness"] if room == "sim" else []
        near += ["conformance.spi_tcp", "conformance.tls",
                 "conformance.strangers_tcp"] if room == "tcp" else []
    return near


def run(args, **kw):
    return subprocess.run(args, check=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.STDOUT, **kw)


class Build:
    """A build of the tree: plain, or under a sanitizer."""

    def __init__(self, preset):
        self.dir = TREE / "build" / preset
        self.plain = preset == "dev"
        if not (self.dir / "build.ninja").exists():
            run(["cmake", "--preset", preset, "-DWEIR_WERROR=OFF",
                 "-DWEIR_MICRO=OFF", "-DWEIR_MPI=OFF"]
                + (["-DCMAKE_C_FLAGS=-O1"] if self.plain else []), cwd=TREE)
        self.rules = (self.dir / "build.ninja").read_text()
        self.seconds = {}

    @staticmethod
    def target(test):
        """The program of a test, below the folder of the build."""
        return "weir" if test == CLUSTERS else f"test/{test}"

    def has(self, test):
        return f"build {self.target(test)}: " in self.rules

    def object_of(self, path):
        return f"CMakeFiles/weir_objects.dir/{path}.o"

    def compile(self, target):
        return subprocess.run(["ninja", "-C", self.dir, target],
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL,
                              check=False).returncode == 0

    def passes(self, test, limit):
        """Does a test pass? Its whole group of processes ends with it."""
        args = ([self.dir / "weir", *test.split()[1:]] if test == CLUSTERS
                else [self.dir / "test" / test, "-j2"])
        if not self.plain:
            args = ["setarch", os.uname().machine, "-R"] + args
        env = dict(os.environ, TSAN_OPTIONS="halt_on_error=1")
        p = subprocess.Popen(args, cwd=self.dir, env=env,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL,
                             start_new_session=True)
        try:
            return p.wait(limit) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            try:
                os.killpg(p.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            p.wait()

    def limit(self, test):
        """Seconds for a test: many times what it took unbroken."""
        if test not in self.seconds:
            if not self.compile(self.target(test)):
                sys.exit(f"{test} does not build")
            begin = time.monotonic()
            if not self.passes(test, 900):
                sys.exit(f"{test} fails before anything was broken")
            self.seconds[test] = time.monotonic() - begin
        return 20 + 6 * self.seconds[test]


def copy_tree():
    """The tree at HEAD; the sources of others are linked."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True,
                          capture_output=True, text=True).stdout.strip()
    mark = WORK / "head"
    if mark.exists() and mark.read_text() == head:
        return
    shutil.rmtree(WORK, ignore_errors=True)
    TREE.mkdir(parents=True)
    archive = subprocess.Popen(["git", "archive", head], cwd=ROOT,
                               stdout=subprocess.PIPE)
    run(["tar", "x", "-C", TREE], stdin=archive.stdout)
    (TREE / "build").mkdir()
    for name in ("arrow", "libduckdb"):
        if (ROOT / "build" / name).exists():
            (TREE / "build" / name).symlink_to(ROOT / "build" / name)
    mark.write_text(head)


def sources(names):
    if names:
        return sorted(names)
    found = []
    for folder in ("core", "transport/sim", "transport/shm", "transport/tcp"):
        found += [str(p.relative_to(TREE))
                  for p in (TREE / folder).rglob("*.c")]
    # Found by the processor: the other levels' tests run on other machines.
    return sorted(p for p in found if "vbmi2" not in p and "avx512" not in p
                  and "vec128" not in p)


def draw(names, seed):
    """All mutations by kind, each kind in random order."""
    rng = random.Random(seed)
    by_kind = {kind: [] for kind in SHARES}
    for path in sources(names):
        for m in candidates.of_file(TREE, path):
            by_kind[m.kind].append(m)
    for group in by_kind.values():
        rng.shuffle(group)
    return by_kind


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def killer_of(m, build):
    """The first test that fails; None: it survives. "same": the object is as
    before; "broken": it does not compile."""
    suites = TSAN_SUITES if m.kind == "order" else nearest(m.path) + SUITES
    suites = [s for s in dict.fromkeys(suites) if build.has(s)]
    for s in suites:
        build.limit(s)
    obj = build.object_of(m.path)
    build.compile(obj)
    before = digest(build.dir / obj)
    source = TREE / m.path
    whole = source.read_text()
    lines = whole.split("\n")
    lines[m.line] = m.new
    source.write_text("\n".join(lines))
    try:
        if not build.compile(obj):
            return "broken"
        if digest(build.dir / obj) == before:
            return "same"
        for s in suites:
            if not build.compile(build.target(s)):
                return "broken"
            if not build.passes(s, build.limit(s)):
                return s
        return None
    finally:
        source.write_text(whole)
        build.compile(obj)


def read_results():
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def explained():
    path = ROOT / "test" / "mutants" / "explained.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.rsplit(" | ", 1) for line in lines if " | " in line)


def report():
    tried = [r for r in read_results() if r["killer"] not in ("same", "broken")]
    reasons = explained()
    killed = [r for r in tried if r["killer"]]
    left = [r for r in tried if not r["killer"]]
    known = [r for r in left if r["key"] in reasons]
    counted = len(tried) - len(known)
    share = len(killed) / counted if counted else 0
    text = [f"# {len(killed)} of {counted} mutants killed, {100 * share:.1f} %",
            "", f"{len(known)} more change nothing that a test could see."]
    for kind in SHARES:
        of_kind = [r for r in tried if r["kind"] == kind]
        dead = [r for r in of_kind if r["killer"]]
        text.append(f"- {kind}: {len(dead)} of {len(of_kind)}")
    text += ["", "## Survivors", ""]
    text += [f"- {r['kind']}, line {r['line'] + 1}: `{r['key']}`"
             + (f" ({reasons[r['key']]})" if r in known else "") for r in left]
    (WORK / "report.md").write_text("\n".join(text) + "\n")
    print(text[0][2:])
    print(f"see {WORK / 'report.md'}")
    return share


def try_all(by_kind, count, deadline):
    done = {r["key"]: r for r in read_results()}
    builds = {}
    for kind, group in by_kind.items():
        wanted = round(count * SHARES[kind] / 100)
        preset = "tsan" if kind == "order" else "dev"
        for m in group:
            if wanted == 0 or time.monotonic() > deadline:
                break
            if m.key not in done:
                if preset not in builds:
                    builds[preset] = Build(preset)
                killer = killer_of(m, builds[preset])
                done[m.key] = dict(key=m.key, kind=kind, line=m.line,
                                   killer=killer)
                with RESULTS.open("a") as f:
                    f.write(json.dumps(done[m.key]) + "\n")
                print(f"{killer or 'SURVIVES':24} {m.key}", flush=True)
            wanted -= done[m.key]["killer"] not in ("same", "broken")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--minutes", type=float, default=600)
    p.add_argument("files", nargs="*")
    args = p.parse_args()
    copy_tree()
    try_all(draw(args.files, args.seed), args.count,
            time.monotonic() + 60 * args.minutes)
    return 0 if report() >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
