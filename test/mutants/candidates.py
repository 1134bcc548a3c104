# SPDX-License-Identifier: Apache-2.0
"""Where a source can be broken: all mutations of a file, one line each.

A mutation replaces part of one line and keeps the number of lines. Comments,
strings, preprocessor lines and assertions are left alone.
"""

import re
from dataclasses import dataclass

COMPARISONS = [
    (" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "),
    (" == ", " != "), (" != ", " == "), (" && ", " || "), (" || ", " && "),
]
OFF_BY_ONE = [(" + 1", " + 0"), (" - 1", " - 0"), (" + 1", " + 2"),
              ("++;", " += 2;")]
ORDERS = [("wi_store_rel(", "wi_store_rlx("), ("wi_load_acq(", "wi_load_rlx("),
          ("wi_store_sc(", "wi_store_rlx("), ("wi_load_sc(", "wi_load_rlx(")]
WAKE = re.compile(r"^\s+(?:\(void\))?wi_\w*(?:kick|wake|notify|rouse|due)\w*"
                  r"\(.*\);$")
STORE = re.compile(r"^\s+(?:\(void\))?(?:wi_(?:store|add|or|and|xchg)_\w+\(.*\)"
                   r"|\*?[\w.>\-\[\]]+(?:->|\.)\w+(?:\[\w+\])?"
                   r" (?:=|\+=|-=|\|=) [^{]*|\w+->\w+(?:\+\+|--));$")
CHECK = re.compile(r"^(\s+)if \((.*)\) \{$")
REFUSES = re.compile(r"return (?:false|NULL|WEIR_ERR|rc|wi_fail)|wi_fail\(")
SKIPPED = re.compile(r"^\s*(?:#|assert\(|\*|/\*|static_assert)")


@dataclass(frozen=True)
class Mutation:
    """One change. `line` counts from 0; `key` is what it is known by, also
    after lines above have moved."""

    path: str
    line: int
    kind: str
    old: str
    new: str

    @property
    def key(self):
        return f"{self.path}: {self.old.strip()} -> {self.new.strip()}"


def code_of(text):
    """The text with comments and strings blanked out, lines kept."""
    def blank(m):
        return re.sub(r"[^\n]", "\0", m.group())
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def swaps(kind, table, line, code):
    for old, new in table:
        number = r"(?![\w.])" if old[-1].isdigit() else ""
        for m in re.finditer(re.escape(old) + number, code):
            yield kind, line[:m.start()] + new + line[m.end():]


def of_line(line, code, after):
    yield from swaps("comparison", COMPARISONS, line, code)
    yield from swaps("off by one", OFF_BY_ONE, line, code)
    yield from swaps("order", ORDERS, line, code)
    indent = line[:len(line) - len(line.lstrip())]
    if WAKE.match(code):
        yield "wake", indent + ";"
    elif STORE.match(code):
        yield "store", indent + ";"
    check = CHECK.match(code)
    if check and REFUSES.search(after):
        yield "check", f"{check.group(1)}if (0 && ({line.strip()[4:-3]})) {{"


def of_file(root, path):
    """All mutations of a source."""
    text = (root / path).read_text()
    lines = text.split("\n")
    code = code_of(text).split("\n")
    for i, line in enumerate(lines):
        if SKIPPED.match(code[i]) or code[i].strip("\0 ") == "":
            continue
        after = " ".join(lines[i + 1:i + 4]).split("}")[0]
        for kind, new in of_line(line, code[i], after):
            yield Mutation(path, i, kind, line, new)
