# SPDX-License-Identifier: Apache-2.0
"""Runs one command of a suite; its answer is one object."""
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

TIMEOUT_S = 600
GET_UCX = Path(__file__).resolve().parents[1] / "opponents" / "get_ucx.py"


class Failed(Exception):
    """What a suite's command said instead of an answer."""


def finish(command, env=None, text=None):
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              input=text, env={**os.environ, **(env or {})},
                              timeout=TIMEOUT_S, check=False)
    except FileNotFoundError as error:
        raise Failed(f"{command[0]} is not there") from error
    except subprocess.TimeoutExpired as error:
        raise Failed(f"not done after {TIMEOUT_S} s") from error
    if done.returncode != 0:
        why = (done.stderr or done.stdout).strip()[-500:]
        raise Failed(why or f"status {done.returncode}")
    return done.stdout


def run_bench(weir, suite):
    out = finish([weir] + suite.command, suite.env)
    try:
        answer = json.loads(out)
    except ValueError as error:
        raise Failed(f"no JSON: {out[:200]}") from error
    wanted = suite.env.get("WEIR_ISA")
    if wanted and answer["instructions"] != wanted:
        raise Failed(f"WEIR_ISA={wanted} ran with {answer['instructions']}")
    return answer


def run_plan(weir, suite):
    """From the start of the process to its end."""
    begin = time.monotonic()
    out = finish([weir] + suite.command, suite.env, suite.input)
    return {"seconds": time.monotonic() - begin,
            "answer_rows": len(out.strip().split("\n")) - 1}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def run_iperf(mib):
    """One client, one server, one stream; the receiver's rate."""
    port = free_port()
    listening = "Server listening"
    server = ["iperf3", "-s", "-1", "-p", port, "-B", "127.0.0.1",
              "--forceflush"]
    try:
        process = subprocess.Popen(server, stdout=subprocess.PIPE, text=True)
    except FileNotFoundError as error:
        raise Failed("iperf3 is not there") from error
    with process:
        try:
            while listening not in process.stdout.readline():
                if process.poll() is not None:
                    raise Failed("iperf3 does not listen")
            out = finish(["iperf3", "-c", "127.0.0.1", "-p", port, "-n",
                          f"{mib}M", "-J"])
        finally:
            process.terminate()
    end = json.loads(out)["end"]["sum_received"]
    return {"seconds": end["seconds"],
            "mb_per_s": end["bits_per_second"] / 8e6}


def run_suite(weir, suite):
    """One run. Raises Failed."""
    if suite.command[0] == "iperf3":
        return run_iperf(suite.command[1])
    if suite.command[0] == "get-ucx":
        return json.loads(finish([sys.executable, str(GET_UCX), "--weir", weir]
                                 + suite.command[1:]))
    if suite.command[0] == "run":
        return run_plan(weir, suite)
    return run_bench(weir, suite)
