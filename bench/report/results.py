# SPDX-License-Identifier: Apache-2.0
"""Reads a report's JSON: samples, medians, ratios. Every figure on the page and
in the terminal comes from here, and so from the JSON."""
from dataclasses import dataclass
from math import exp, log
from statistics import median


@dataclass
class Figure:
    """A median, and between what it lay."""
    median: float
    least: float
    most: float
    samples: int


def number(value):
    """As people read it: three digits."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def spread(values):
    if not values:
        return None
    return Figure(median(values), min(values), max(values), len(values))


class Results:
    """A report. What was not run gives None."""

    def __init__(self, report):
        self.report = report

    def suite(self, name):
        return self.report["suites"].get(name)

    def runs(self, name):
        suite = self.suite(name)
        return suite["runs"] if suite else []

    def names(self, start):
        return [name for name in self.report["suites"]
                if name.startswith(start)]

    def samples(self, name, opponent, key):
        """Of one opponent, one per run."""
        return [one[key] for run in self.runs(name)
                for one in run.get("results", [])
                if one["name"] == opponent and key in one]

    def opponents(self, name):
        runs = self.runs(name)
        return [one["name"] for one in runs[0]["results"]] if runs else []

    def core_ns(self, name, opponent):
        return spread(self.samples(name, opponent, "core_ns_per_row_stage"))

    def ratio(self, over, under, key="core_ns_per_row_stage"):
        """Of two (suite, opponent): of their medians; the spread is that of
        the single rounds."""
        a, b = (self.samples(*side, key) for side in (over, under))
        return quotient(a, b)

    def values(self, name, key):
        return [run[key] for run in self.runs(name) if key in run]

    def value_ratio(self, over, under, key):
        return quotient(self.values(over, key), self.values(under, key))

    def query(self, name, opponent):
        """Median, least and most, of rounds or of a command that repeats
        inside."""
        if len(self.runs(name)) > 1:
            return spread(self.samples(name, opponent, "median_s"))
        for run in self.runs(name):
            for one in run.get("results", []):
                if one["name"] == opponent:
                    return Figure(one["median_s"], one["min_s"], one["max_s"],
                                  run.get("repeat", 1))
        return None

    def query_ratio(self, name, over, under="shm"):
        a, b = self.query(name, over), self.query(name, under)
        if not a or not b:
            return None
        return Figure(a.median / b.median, a.least / b.most, a.most / b.least,
                      a.samples)

    def tpch(self):
        """(query, seconds of Weir, of DuckDB) of each."""
        rows = []
        for run in self.runs("tpch")[:1]:
            for plan in run["plans"]:
                s = {one["name"]: one for one in plan["results"]}
                if "shm" in s and "duckdb" in s:
                    rows.append((plan["plan"].split("/")[-1], s["shm"],
                                 s["duckdb"]))
        return rows

    def tpch_ratios(self):
        return [duckdb["median_s"] / shm["median_s"]
                for _, shm, duckdb in self.tpch()]

    def gets(self, name):
        """What one command of gets has: an entry per size."""
        runs = self.runs(name)
        return runs[0].get("sizes", runs[0].get("results")) if runs else []

    def get_ratio(self, transport, size, name):
        """An opponent's time of one get by Weir's."""
        for one in self.gets("get ucx"):
            if (one["transport"], one["bytes"]) == (transport, size):
                return quotient(one[name]["mean_ns"], one["weir"]["mean_ns"])
        return None

    def fan(self, name):
        """The points of a run with many destinations."""
        runs = self.runs(name)
        return runs[0]["points"] if runs else []


def quotient(over, under):
    if not over or not under:
        return None
    single = [a / b for a, b in zip(over, under)]
    return Figure(median(over) / median(under), min(single), max(single),
                  len(single))


def geometric_mean(values):
    return exp(sum(log(value) for value in values) / len(values))
