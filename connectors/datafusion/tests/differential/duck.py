# SPDX-License-Identifier: Apache-2.0
"""DuckDB as a process: duck.py SCRIPT runs a script, and then a statement per
line of standard input, a JSON text each. An answer is a line, too: an object
with "rows", JSON texts as weir-sql prints them, or with "error"."""
import datetime
import decimal
import json
import math
import sys
import types
import uuid

import duckdb


class Utc(datetime.tzinfo):
    def utcoffset(self, moment):
        return datetime.timedelta(0)

    dst = utcoffset

    def tzname(self, moment):
        return "UTC"

    def localize(self, moment):
        return moment.replace(tzinfo=self)


# DuckDB asks this package for the time zone, which is UTC, and nothing else.
sys.modules["pytz"] = types.SimpleNamespace(timezone=lambda name: Utc(),
                                            utc=Utc())

# What DataFusion does, where DuckDB can do the same.
SETTINGS = ("SET threads = 1",
            "SET TimeZone = 'UTC'",
            "SET default_null_order = 'nulls_last_on_asc_first_on_desc'",
            "SET enable_progress_bar = false")


def text(value):
    """JSON; NaN and infinities are null, as arrow-json has them."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "null"
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(str(key))}:{text(it)}"
                              for key, it in value.items()
                              if it is not None) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(text, value)) + "]"
    return json.dumps(words(value), ensure_ascii=False)


def words(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, uuid.UUID):
        return value.hex
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def answer(connection, sql):
    try:
        result = connection.execute(sql)
        names = [column[0] for column in result.description]
        return {"rows": [text(dict(zip(names, row)))
                         for row in result.fetchall()]}
    except duckdb.Error as error:
        return {"error": str(error)}


def main():
    connection = duckdb.connect()
    for setting in SETTINGS:
        connection.execute(setting)
    with open(sys.argv[1], encoding="utf-8") as script:
        connection.execute(script.read())
    for line in sys.stdin:
        said = answer(connection, json.loads(line))
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
