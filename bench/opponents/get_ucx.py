#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""UCX as the opponent of `weir bench get`: ucx_perftest of Debian's ucx-utils.

    get_ucx.py --weir build/bench/weir [--transports shm,tcp] [--bytes LIST]
               [--rounds K] [--json]

In every round each program runs once, one after the other, and reads the same
bytes again and again (`--span` of `weir bench get` is one get long): that is
all that ucx_perftest can do. The runs are:

    weir   copied to the reader's memory; the owner's worker waits
    ucx    test ucp_get: into the reader's memory, too
    tags   tcp only. ucx_perftest's owner looks after gets once in a
           millisecond, and where the owner's processor has to answer that is
           what they take. So here is what they could take at best: a message
           of 8 bytes and one of the get's size back, of its test tag_lat, in
           which both ends spin.

A ratio is that of the medians; more than 1: Weir is faster.
"""
import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time
from statistics import median

TLS = {"shm": "posix,sysv,cma", "tcp": "tcp"}
IN_FLIGHT = 16
LIMIT_S = 60
# Gets of a run, by bytes up to: some 30 ms of them.
RUNS = {"shm": [(64, 300000), (4096, 100000), (65536, 20000), (1 << 30, 1000)],
        "tcp": [(1 << 30, 100)], "tags": [(4096, 3000), (65536, 500),
                                         (1 << 30, 60)]}


class Failed(Exception):
    """What a program said instead of figures."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listens(port):
    """Linux: one line per socket, its port in hex, state 0A."""
    with open("/proc/net/tcp", encoding="ascii") as sockets:
        return re.search(rf":{port:04X} \S+ 0A ", sockets.read()) is not None


def wait_until(port, process):
    until = time.monotonic() + 10
    while not listens(port):
        if process.poll() is not None or time.monotonic() > until:
            raise Failed("ucx_perftest does not listen")
        time.sleep(0.01)


def perftest(transport, test, size, count, in_flight):
    """One run: (mean ns of one, MB/s)."""
    port = free_port()
    env = {**os.environ, "UCX_TLS": TLS[transport], "UCX_WARN_UNUSED_ENV_VARS":
           "n"}
    program = ["ucx_perftest", "-p", str(port)]
    test = ["-t", test, "-s", str(size), "-O", str(in_flight), "-n",
            str(count), "-w", str(count // 10 + 1), "-f", "-v"]
    try:
        owner = subprocess.Popen(program, env=env, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise Failed("ucx_perftest is not there (Debian: ucx-utils)"
                     ) from error
    with owner:
        try:
            wait_until(port, owner)
            done = subprocess.run(program[:1] + ["127.0.0.1"] + program[1:] +
                                  test, env=env, capture_output=True,
                                  text=True, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{test} did not end") from error
        finally:
            owner.terminate()
    lines = done.stdout.strip().split("\n")
    if done.returncode != 0 or len(lines) < 2:
        raise Failed((done.stderr or done.stdout).strip()[-300:])
    row = dict(zip(lines[-2].split(","), lines[-1].split(",")))
    return float(row["overall_lat"]) * 1e3, float(row["overall_bw"]) * 1.048576


def count_of(kind, size):
    return next(count for most, count in RUNS[kind] if size <= most)


def run_ucx(transport, size):
    count = count_of(transport, size)
    mean_ns, _ = perftest(transport, "ucp_get", size, count, 1)
    _, rate = perftest(transport, "ucp_get", size, count, IN_FLIGHT)
    return {"mean_ns": mean_ns, "mb_per_s": rate}


def run_tags(size):
    """tag_lat gives half a round trip."""
    there, _ = perftest("tcp", "tag_lat", 8, count_of("tags", 8), 1)
    back, _ = perftest("tcp", "tag_lat", size, count_of("tags", size), 1)
    return {"mean_ns": there + back}


def run_weir(weir, transport, size):
    command = [weir, "bench", "get", "-t", transport, "--bytes", str(size),
               "--span", str(size), "--in-flight", str(IN_FLIGHT), "--repeat",
               "1", "--ms", "30", "--attend", "--json"]
    done = subprocess.run(command, capture_output=True, text=True,
                          timeout=LIMIT_S, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return json.loads(done.stdout)["sizes"][0]["copied"]


def one_round(weir, transport, size, samples):
    runs = {"weir": lambda: run_weir(weir, transport, size),
            "ucx": lambda: run_ucx(transport, size)}
    if transport == "tcp":
        runs["tags"] = lambda: run_tags(size)
    for name, run in runs.items():
        for key, value in run().items():
            samples.setdefault(name, {}).setdefault(key, []).append(value)


def measure(args):
    """All of it: one entry per transport and size."""
    cells = [(transport, size, {}) for transport in args.transports.split(",")
             for size in map(int, args.bytes.split(","))]
    for _ in range(args.rounds):
        for transport, size, samples in cells:
            one_round(args.weir, transport, size, samples)
    return {"benchmark": "get-ucx", "in_flight": IN_FLIGHT,
            "rounds": args.rounds,
            "results": [{"transport": transport, "bytes": size, **samples}
                        for transport, size, samples in cells]}


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def show(answer):
    print(f"{'':24}{'one at a time, us':>20}{IN_FLIGHT:>8} at a time, MB/s")
    for one in answer["results"]:
        for name in ("weir", "ucx", "tags"):
            if name in one:
                ns = one[name]["mean_ns"]
                rate = one[name].get("mb_per_s")
                title = f"{one['transport']} {size_text(one['bytes'])} {name}"
                print(f"{title:24}{median(ns) / 1e3:12.3f} "
                      f"({min(ns) / 1e3:.3f} to {max(ns) / 1e3:.3f})"
                      + (f"  {median(rate):12.1f}" if rate else ""))
    print()
    for one in answer["results"]:
        for name in ("ucx", "tags"):
            if name in one:
                ratio = median(one[name]["mean_ns"]) / median(
                    one["weir"]["mean_ns"])
                print(f"{name}/{one['transport']} {size_text(one['bytes'])} "
                      f"{ratio:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weir", required=True, help="the program")
    parser.add_argument("--transports", default="shm,tcp")
    parser.add_argument("--bytes", default="8,4096,65536,1048576")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    try:
        answer = measure(args)
    except (Failed, subprocess.TimeoutExpired) as error:
        sys.exit(f"get_ucx.py: {error}")
    if args.json:
        print(json.dumps(answer))
    else:
        show(answer)


if __name__ == "__main__":
    main()
