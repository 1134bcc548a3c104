# SPDX-License-Identifier: Apache-2.0
"""Who answers: weir-sql with and without workers, and DuckDB. Each is one
process that lives for many statements; one that dies or hangs is said to, and
started anew for the next statement."""
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
import tty
from pathlib import Path

from tree import DATAFUSION, DUCKDB

PROMPTS = re.compile(rb"^(?:weir> |  \.\.\. )+")
MARK = b'{"weir_mark":'
LONG = 60  # seconds that only a hang takes, on a machine that does other work


class Answer:
    """rows: texts of JSON objects; or error; or lost: how a process ended.
    notes: what else it has said, such as a panic."""

    def __init__(self, rows=None, error=None, lost=None, notes=""):
        self.rows, self.error, self.lost = rows, error, lost
        self.notes = notes

    def kind(self):
        return "rows" if self.rows is not None else \
            "error" if self.error is not None else "lost"

    def __str__(self):
        said = {"rows": f"{len(self.rows or ())} rows", "error": self.error,
                "lost": self.lost}[self.kind()]
        return f"{said}; {self.notes}" if self.notes else str(said)


class Process:
    """What both kinds share: start when asked, end, and start again."""

    def __init__(self):
        self.child = None

    def ask(self, sql, limits=(LONG, 3 * LONG)):
        """A hang is one that is there twice: machines are busy at times."""
        for limit in limits:
            if self.child is None:
                self.start()
            try:
                return self.talk(sql, time.monotonic() + limit)
            except TimeoutError:  # an OSError, too
                self.child.kill()
                answer = self.gone(f"no answer in {limit} s; ")
            except (EOFError, OSError):
                return self.gone("")
        return answer

    def gone(self, why):
        child = self.child
        self.close()
        return Answer(lost=f"{why}ended with status {child.returncode}",
                      notes=self.last_words)

    def close(self):
        if self.child is not None:
            self.let_go()
            try:
                self.child.wait(LONG)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
            self.child = None


class WeirSql(Process):
    """weir-sql at its prompt: a terminal whose lines are not echoed. After
    each statement a second one tells that its answer is whole."""

    dialect = DATAFUSION

    def __init__(self, name, command, folder, settings=()):
        super().__init__()
        self.name, self.command, self.folder = name, command, folder
        self.settings = settings
        self.n = 0
        self.last_words = ""

    def start(self):
        keyboard, terminal = pty.openpty()
        tty.setraw(terminal)  # as long lines as there are, no echo
        environment = dict(os.environ, TERM="dumb", TMPDIR=str(self.folder),
                           RUST_BACKTRACE="0")
        environment.pop("HOME", None)  # no history
        self.child = subprocess.Popen(
            self.command, stdin=terminal, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment)
        os.close(terminal)
        self.keyboard = keyboard
        self.out, self.err = self.child.stdout.fileno(), \
            self.child.stderr.fileno()
        os.set_blocking(self.err, False)
        self.rest = b""
        self.errors = []
        for setting in self.settings:
            answer = self.talk(setting, time.monotonic() + LONG)
            if answer.rows is None:
                raise RuntimeError(f"{self.name}: {setting}: {answer}")

    def talk(self, sql, deadline):
        self.n += 1
        text = f"{sql};\nSELECT {self.n} AS weir_mark;\n".encode()
        self.type(text, deadline)
        rows = []
        mark = MARK + str(self.n).encode() + b"}"
        while True:
            line = PROMPTS.sub(b"", self.line(deadline))
            if line == mark:
                break
            if line:
                rows.append(line.decode())
        self.hear()
        return self.answer(rows)

    def type(self, text, deadline):
        """A terminal holds 4 kB that are not read yet."""
        while text:
            wait = max(deadline - time.monotonic(), 0)
            if not select.select([], [self.keyboard], [], wait)[1]:
                raise TimeoutError
            n = os.write(self.keyboard, text[:1024])
            text = text[n:]

    def line(self, deadline):
        while b"\n" not in self.rest:
            wait = max(deadline - time.monotonic(), 0)
            ready = select.select([self.out, self.err], [], [], wait)[0]
            if not ready:
                raise TimeoutError
            if self.err in ready:
                self.hear()
            if self.out in ready:
                part = os.read(self.out, 1 << 16)
                if not part:
                    self.hear()
                    self.last_words = b"".join(self.errors).decode()[-500:]
                    raise EOFError
                self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def hear(self):
        try:
            while part := os.read(self.err, 1 << 16):
                self.errors.append(part)
        except BlockingIOError:
            pass

    def answer(self, rows):
        said = b"".join(self.errors).decode(errors="replace").splitlines()
        self.errors = []
        errors = [line[10:] for line in said if line.startswith("weir-sql: ")]
        notes = "; ".join(line for line in said
                          if line and not line.startswith("weir-sql: "))
        if errors:
            return Answer(error=errors[0], notes=notes)
        return Answer(rows=rows, notes=notes)

    def let_go(self):
        os.close(self.keyboard)
        self.child.stdout.close()
        self.child.stderr.close()


class DuckDb(Process):
    """A process with the duckdb package: it crashes alone."""

    dialect = DUCKDB

    def __init__(self, script, python=sys.executable, name="duckdb"):
        super().__init__()
        self.name, self.script, self.python = name, script, python
        self.last_words = ""

    def start(self):
        server = Path(__file__).with_name("duck.py")
        self.child = subprocess.Popen(
            [self.python, str(server), str(self.script)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def talk(self, sql, deadline):
        self.child.stdin.write(json.dumps(sql) + "\n")
        self.child.stdin.flush()
        wait = max(deadline - time.monotonic(), 0)
        if not select.select([self.child.stdout], [], [], wait)[0]:
            raise TimeoutError
        line = self.child.stdout.readline()
        if not line:
            raise EOFError
        return Answer(**json.loads(line))

    def let_go(self):
        try:
            self.child.stdin.close()
        except BrokenPipeError:
            pass
        self.child.stdout.close()
