# SPDX-License-Identifier: Apache-2.0
"""mutants.py [--count 200] [--seed 1] [--minutes M] [--jobs 2] [FILE ...]: are
the tests any good? Breaks core/ and transport/{sim,shm,tcp} in one place at a
time, in a copy of the tree at HEAD (build/mutants, one for each job), and runs
the unit, conformance and simulator tests until one of them fails. What none
notices is a survivor.

  draw --> change a line --> compile --> same object? draw again
                                |
                                +--> tests, until one fails --> killed, or not

The tests that are nearest to the file come first, then what has killed most per
second so far. All mutants are tried by the quick programs (QUICK_S seconds, the
nearest NEAR_S) first, those that survive by all of them after that. Weakened
memory orders are run under ThreadSanitizer, the rest plainly. Results are kept,
with the sources, in test/mutants/results.jsonl: a run that was broken off goes
on where it stopped, and what survived other sources or other tests is tried
again. The survivors are listed in build/mutants/report.md; those in
test/mutants/explained.txt (a line `key | reason`) change nothing that a test
could see. Exit status 1: fewer than 90 in 100 were killed.
"""

import argparse
import collections
import filecmp
import hashlib
import json
import multiprocessing
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import candidates

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
RESULTS = ROOT / "test" / "mutants" / "results.jsonl"
SHARES = {"comparison": 25, "off by one": 12, "store": 20, "wake": 10,
          "check": 23, "order": 10}
DECISIVE = ["include", "core", "transport", "tools", "operators", "test/unit",
            "test/conformance", "test/support"]
LEAST = 0.90
QUICK_S = 3
NEAR_S = 10  # of those that are nearest to the file
RACE = b"exit code 66"  # of a test, as test/sanitizer/runner.c says it
# Whole clusters in the simulator: cheap, and they find most.
CLUSTERS = "weir sim --as-is --seeds 1..600"
FEW_CLUSTERS = "weir sim --as-is --seeds 1..60"
# What finds most comes first, until this run knows better.
SUITES = [FEW_CLUSTERS, "unit.args", "unit.core.link", "unit.core.query",
          "unit.core.node", "unit.core.rows", "unit.core.ring",
          "unit.core.base", CLUSTERS, "conformance.refused",
          "conformance.api_sim", "conformance.sim", "conformance.post",
          "conformance.seed",
          "conformance.lookup", "conformance.filter", "conformance.hostile",
          "conformance.loss", "conformance.identity",
          "conformance.hostile_identity", "conformance.region_shm",
          "conformance.region_tcp", "conformance.shm", "conformance.tcp",
          "conformance.spi_tcp", "conformance.api_shm", "conformance.api_tcp",
          "conformance.fetch_close", "conformance.storm",
          "conformance.offence", "conformance.region_sim",
          "unit.operators", "unit.core.format", "conformance.region_auto",
          "conformance.api_auto", "conformance.closed",
          "conformance.offsets", "conformance.spi_tls",
          "conformance.region_tls", "conformance.tls"]
TSAN_SUITES = ["conformance.shm", "conformance.tcp", "conformance.spi_tcp",
               "conformance.spi_tls", "conformance.region_shm",
               "conformance.region_tcp", "conformance.region_tls",
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
        near += ["conformance.spi_tcp", "conformance.spi_tls",
                 "conformance.region_tls", "conformance.tls",
                 "conformance.strangers_tcp"] if room == "tcp" else []
    return near


def run(args, **kw):
    return subprocess.run(args, check=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.STDOUT, **kw)


class Build:
    """A build of a tree: plain, or under a sanitizer."""

    def __init__(self, tree, preset):
        self.tree = tree
        self.dir = tree / "build" / preset
        self.kept = tree / "build" / "seconds.json"
        self.plain = preset == "dev"
        if not (self.dir / "build.ninja").exists():
            run(["cmake", "--preset", preset, "-DWEIR_WERROR=OFF",
                 "-DWEIR_MICRO=OFF", "-DWEIR_MPI=OFF"]
                + (["-DCMAKE_C_FLAGS=-O1", "-DCMAKE_C_FLAGS_DEBUG="]
                   if self.plain else []), cwd=tree)
        self.rules = (self.dir / "build.ninja").read_text()
        self.known = self.read_seconds()
        self.seconds = self.known.setdefault(preset, {})

    def read_seconds(self):
        return json.loads(self.kept.read_text()) if self.kept.exists() else {}

    @staticmethod
    def target(test):
        """The program of a test, below the folder of the build."""
        return "weir" if test.startswith("weir ") else f"test/{test}"

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
        """Does a test pass? Its whole group of processes ends with it. Under a
        sanitizer only what that reports counts: tests are slow there."""
        args = [self.dir / self.target(test), *test.split()[1:]]
        if not test.startswith("weir "):
            args += ["--fail-fast", "-j2" if self.plain else "-j6"]
        if not self.plain:
            args = ["setarch", os.uname().machine, "-R"] + args
        env = dict(os.environ, TSAN_OPTIONS="halt_on_error=1")
        p = subprocess.Popen(args, cwd=self.dir, env=env,
                             stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL,
                             start_new_session=True)
        try:
            said = p.communicate(timeout=limit)[0]
            return p.returncode == 0 if self.plain else RACE not in said
        except subprocess.TimeoutExpired:
            return not self.plain
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
            self.kept.write_text(json.dumps(self.known))
        return 20 + 6 * self.seconds[test]


def state_of_root():
    """What decides whether a mutant survives, at HEAD."""
    files = subprocess.run(["git", "ls-tree", "-r", "HEAD", *DECISIVE],
                           cwd=ROOT, check=True, capture_output=True).stdout
    return hashlib.sha256(files).hexdigest()


def copy_tree(tree):
    """The tree at HEAD; the sources of others are linked. What has not changed
    keeps its time, so that it is not compiled again."""
    fresh = tree.with_name(f"{tree.name}-fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    with subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT,
                          stdout=subprocess.PIPE) as archive:
        run(["tar", "xm", "-C", fresh], stdin=archive.stdout)
    for new in fresh.rglob("*"):
        to = tree / new.relative_to(fresh)
        if new.is_file() and not (to.exists() and
                                  filecmp.cmp(new, to, shallow=False)):
            to.parent.mkdir(parents=True, exist_ok=True)
            new.replace(to)
    for old in [p for p in tree.rglob("*") if p.is_file()]:
        inside = old.relative_to(tree)
        if inside.parts[0] != "build" and not (ROOT / inside).exists():
            old.unlink()
    shutil.rmtree(fresh)
    (tree / "build").mkdir(exist_ok=True)
    for name in ("arrow", "libduckdb"):
        link = tree / "build" / name
        if (ROOT / "build" / name).exists() and not link.exists():
            link.symlink_to(ROOT / "build" / name)


def sources(tree, names):
    if names:
        return sorted(names)
    found = []
    for folder in ("core", "transport/sim", "transport/shm", "transport/tcp"):
        found += [str(p.relative_to(tree))
                  for p in (tree / folder).rglob("*.c")]
    # Found by the processor: the other levels' tests run on other machines.
    return sorted(p for p in found if "vbmi2" not in p and "avx512" not in p
                  and "vec128" not in p)


def draw(tree, names, seed):
    """All mutations by kind: those that have a result first, then the others,
    in a random order that a change of some of the sources leaves as it is."""
    tried = read_results()
    by_kind = {kind: [] for kind in SHARES}
    for path in sources(tree, names):
        alike = {m.key: m for m in candidates.of_file(tree, path)}
        for m in alike.values():
            by_kind[m.kind].append(m)
    for group in by_kind.values():
        group.sort(key=lambda m: (m.key not in tried, hashlib.sha256(
            f"{seed} {m.key}".encode()).digest()))
    return by_kind


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def order_of(m, build, kills):
    """The tests to run: the nearest first, then by kills per second so far."""
    if m.kind == "order":
        near, rest = [], TSAN_SUITES
    else:
        near, rest = nearest(m.path), SUITES
    worth = {s: (kills.get(s, 0) + 0.5 / (i + 1)) /
             (1 + build.seconds.get(s, 1)) for i, s in enumerate(rest)}
    suites = near + sorted(rest, key=lambda s: -worth[s])
    return [s for s in dict.fromkeys(suites) if build.has(s)]


def killer_of(m, build, suites):
    """The first test that fails; None: it survives. "same": the object is as
    before; "broken": it does not compile."""
    for s in suites:
        build.limit(s)
    obj = build.object_of(m.path)
    build.compile(obj)
    before = digest(build.dir / obj)
    source = build.tree / m.path
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
    """By key; the last word counts."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {r["key"]: r for r in map(json.loads, lines)}


def explained():
    path = ROOT / "test" / "mutants" / "explained.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.rsplit(" | ", 1) for line in lines if " | " in line)


def report(by_kind):
    """Of those that can still be drawn: sources change."""
    keys = {m.key for group in by_kind.values() for m in group}
    tried = [r for r in read_results().values()
             if r["killer"] not in ("same", "broken") and r["key"] in keys]
    reasons = explained()
    killed = [r for r in tried if r["killer"]]
    left = [r for r in tried if not r["killer"]]
    known = [r for r in left if r["key"] in reasons]
    counted = len(tried) - len(known)
    share = len(killed) / counted if counted else 0
    open_ones = sum(not r.get("whole", True) for r in left)
    text = [f"# {len(killed)} of {counted} mutants killed, {100 * share:.1f} %",
            "", f"{len(known)} more change nothing that a test could see. Of "
            f"the survivors {open_ones} were not tried by slow programs yet."]
    for kind in SHARES:
        of_kind = [r for r in tried if r["kind"] == kind]
        dead = [r for r in of_kind if r["killer"]]
        text.append(f"- {kind}: {len(dead)} of {len(of_kind)}")
    text += ["", "## Survivors", ""]
    text += [f"- {r['kind']}, line {r['line'] + 1}: `{r['key']}`"
             + ("" if r.get("whole", True) else " (by quick programs)")
             + (f" ({reasons[r['key']]})" if r in known else "") for r in left]
    (WORK / "report.md").write_text("\n".join(text) + "\n")
    print(text[0][2:])
    print(f"see {WORK / 'report.md'}")
    return share


def in_turns(by_kind, count):
    """Kinds mixed by their shares; memory orders last: they need a build of
    their own. The caller says which were worth counting."""
    wanted = {k: round(count * SHARES[k] / 100) for k in by_kind}
    left = {k: iter(group) for k, group in by_kind.items()}
    had = dict.fromkeys(by_kind, 0)
    for names in ([k for k in by_kind if k != "order"], ["order"]):
        open_kinds = [k for k in names if wanted[k] > 0]
        while open_kinds:
            kind = min(open_kinds, key=lambda k: had[k] / wanted[k])
            m = next(left[kind], None)
            if m is not None:
                had[kind] += yield m
            if m is None or had[kind] >= wanted[kind]:
                open_kinds.remove(kind)


def is_quick(m, build, test):
    most = NEAR_S if test in nearest(m.path) else QUICK_S
    return build.limit(test) is not None and build.seconds[test] <= most


class Job:
    """Tries its share of the mutants, one after the other, in its own tree."""

    def __init__(self, tree, state, deadline):
        self.tree = tree
        self.state = state
        self.deadline = deadline
        self.builds = {}
        self.done = read_results()
        self.reasons = explained()

    def build_for(self, m):
        preset = "tsan" if m.kind == "order" else "dev"
        if preset not in self.builds:
            self.builds[preset] = Build(self.tree, preset)
        return self.builds[preset]

    def try_one(self, m, quick):
        """Run the quick programs; or, for a survivor of these, all: which ones
        were quick when it was tried may have been different."""
        build = self.build_for(m)
        kills = collections.Counter(r["killer"] for r in self.done.values())
        begin = time.monotonic()
        suites = [s for s in order_of(m, build, kills)
                  if not quick or is_quick(m, build, s)]
        killer = killer_of(m, build, suites)
        result = {"key": m.key, "kind": m.kind, "line": m.line,
                  "killer": killer, "state": self.state,
                  "whole": killer is not None or not quick}
        self.done[m.key] = result
        with RESULTS.open("a") as f:
            f.write(json.dumps(result) + "\n")
        says = killer or ("survives, so far" if quick else "SURVIVES")
        print(f"{says:24} {time.monotonic() - begin:4.0f} s {m.key}",
              flush=True)

    def try_quick(self, by_kind, count):
        """Returns all that were drawn, for the slow programs."""
        drawn = []
        turns = in_turns(by_kind, count)
        m = next(turns, None)
        while m is not None and time.monotonic() < self.deadline:
            old = self.done.get(m.key)
            if old is None or (old["killer"] is None and
                               old["state"] != self.state and
                               m.key not in self.reasons):
                self.try_one(m, True)
            drawn.append(m)
            worth = self.done[m.key]["killer"] not in ("same", "broken")
            try:
                m = turns.send(worth)
            except StopIteration:
                break
        return drawn

    def try_all(self, by_kind, count):
        for m in self.try_quick(by_kind, count):
            if time.monotonic() > self.deadline:
                break
            if not self.done[m.key].get("whole", True) and \
                    m.key not in self.reasons:
                self.try_one(m, False)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--minutes", type=float, default=600)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("files", nargs="*")
    args = p.parse_args()
    state = state_of_root()
    deadline = time.monotonic() + 60 * args.minutes
    trees = [WORK / f"tree-{i}" for i in range(args.jobs)]
    for tree in trees:
        copy_tree(tree)
    by_kind = draw(trees[0], args.files, args.seed)
    jobs = []
    for i, tree in enumerate(trees):
        share = {kind: all_[i::args.jobs] for kind, all_ in by_kind.items()}
        jobs.append(multiprocessing.Process(
            target=Job(tree, state, deadline).try_all,
            args=(share, args.count / args.jobs)))
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    enough = report(by_kind) >= LEAST
    return 0 if enough and not any(job.exitcode for job in jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
