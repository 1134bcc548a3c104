# SPDX-License-Identifier: Apache-2.0
"""What a reader has to know of the machine to repeat a report or doubt it."""
import os
import platform
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path


def said(command):
    """What a program prints, or nothing if it is not there or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout or done.stderr).strip() if done.returncode == 0 else ""


def first_line(command):
    return said(command).split("\n")[0]


def read(path):
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def caches():
    """One line per level, as lscpu has them."""
    found = re.findall(r"^(L\d\w?) cache: +(.*)$", said(["lscpu"]), re.M)
    return {level: size for level, size in found}


def cpu_model():
    words = dict(re.findall(r"^([^:]+): +(.*)$", said(["lscpu"]), re.M))
    return {key: words[name] for key, name in
            [("model", "Model name"), ("family", "CPU family"),
             ("number", "Model"), ("stepping", "Stepping"),
             ("hypervisor", "Hypervisor vendor")] if name in words}


def chosen(text):
    """The word in brackets, of a file of /sys that lists what there is."""
    found = re.search(r"\[(\w+)\]", text)
    return found.group(1) if found else text


def compiler(build):
    """The compiler of a build folder, from CMake's cache."""
    found = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$",
                      read(Path(build) / "CMakeCache.txt"), re.M)
    return first_line([found.group(1) if found else "cc", "--version"])


def commit(source):
    git = ["git", "-C", str(source)]
    name = first_line(git + ["rev-parse", "HEAD"])
    changed = said(git + ["status", "--porcelain", "--untracked-files=no"])
    return name + (" with changes" if name and changed else "")


def facts(weir, source, duckdb):
    """Everything that does not change while the benches run."""
    thp = "/sys/kernel/mm/transparent_hugepage/"
    memory = re.search(r"MemTotal: +(\d+)", read("/proc/meminfo"))
    return {
        "processor": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "caches": caches(),
        "memory_mib": int(memory.group(1)) // 1024 if memory else 0,
        "kernel": platform.release(),
        "system": (re.search(r'PRETTY_NAME="(.*)"', read("/etc/os-release"))
                   or [None, platform.system()])[1],
        "huge_pages": chosen(read(thp + "enabled")),
        "huge_pages_shmem": chosen(read(thp + "shmem_enabled")),
        "clock": read("/sys/devices/system/clocksource/clocksource0/"
                      "current_clocksource"),
        "compiler": compiler(Path(weir).resolve().parent),
        "versions": {
            "weir": first_line([str(weir), "--version"]),
            "Open MPI": first_line(["mpirun", "--version"]),
            "iperf3": first_line(["iperf3", "--version"]),
            "UCX": first_line(["dpkg-query", "-W", "-f", "${Version}",
                               "ucx-utils"]),
            "DuckDB": first_line([str(duckdb), "-c",
                                  "import duckdb; print(duckdb.__version__)"])
            if duckdb else "",
            "python": platform.python_version(),
        },
        "commit": commit(source),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
    }


def cpu_seconds():
    """Seconds of all cores since the start: in use, and stolen."""
    words = read("/proc/stat").split("\n")[0].split()[1:]
    tick = os.sysconf("SC_CLK_TCK")
    ticks = [int(word) for word in words] + [0] * 8
    idle, steal = ticks[3] + ticks[4], ticks[7]
    return {"used_s": (sum(ticks[:7]) - idle) / tick, "steal_s": steal / tick}


def state():
    """What changes: load, and the time that the hypervisor has taken."""
    return {"load": read("/proc/loadavg").split()[:3], **cpu_seconds()}
