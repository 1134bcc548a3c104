#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opponents of `weir bench scan`: Arrow Flight, and batches that are serialized
by Arrow IPC and sent over a plain socket, as in the baseline of Thallus.

    scan.py KIND SOURCE DATABASE SUM_LIBRARY BATCH_ROWS

    KIND     flight           DoGet over the loopback device
             flight-2         the same, two streams with a connection each, each
                              of which gets half of the batches
             serialized       each batch made contiguous, its length in front,
                              over a socket of the loopback device
             serialized-unix  over a socket of the file system's family
    SOURCE   memory           the table lineitem, loaded before
             duckdb           DuckDB runs the query

is two processes: the server, which has the data, and the client, which speaks
on standard input and output. It says "ready VERSION", and answers each line
"PASS TEXT", where PASS is "take" or "read" or "one N", with

    rows R bytes B sum S seconds T

TEXT is a number of columns from the first (memory) or a query (duckdb). "take"
takes each batch and drops it (B and S are 0), "read" adds up every value by
the code in SUM_LIBRARY (bench/scan/sum.h). "one N" runs a scan N times in a row
on the open connection, and reads it; rows and seconds are then those of all,
bytes and sum those of the last.
"""
import ctypes
import os
import socket
import struct
import sys
import threading
import time

LENGTH = struct.Struct("<Q")
KIND, SOURCE, DATABASE, SUM_LIBRARY, BATCH_ROWS = sys.argv[1:6]
BATCH_ROWS = int(BATCH_ROWS)
STREAMS = 2 if KIND == "flight-2" else 1


# ---- the server -------------------------------------------------------------

class Source:
    """What has the data."""

    def __init__(self):
        import duckdb
        self.database = duckdb.connect(DATABASE, read_only=True)
        if SOURCE == "memory":
            batches = self.query("from lineitem")
            self.schema = batches.schema
            self.batches = list(batches)

    def query(self, text):
        """One cursor per query: connections are not shared by threads."""
        return self.database.cursor().execute(text).to_arrow_reader(BATCH_ROWS)

    def open(self, text, part=(0, 1)):
        """Part of what a text asks for, all if it is 0 of 1: a table, whose
        chunks are the batches, or a reader."""
        if SOURCE == "duckdb":
            return self.query(text)
        import pyarrow
        index, parts = part
        mine = self.batches[index::parts]
        if text.endswith("one"):
            mine = [mine[0].slice(0, 1)]
        columns = list(range(int(text.split()[0])))
        return pyarrow.Table.from_batches(mine, self.schema).select(columns)


def serve_flight(tell):
    from pyarrow import flight

    class Server(flight.FlightServerBase):
        """DoGet alone; a ticket is "INDEX PARTS TEXT"."""

        def __init__(self):
            super().__init__("grpc://127.0.0.1:0")
            self.source = Source()

        def do_get(self, context, ticket):
            index, parts, text = ticket.ticket.decode().split(" ", 2)
            data = self.source.open(text, (int(index), int(parts)))
            return flight.RecordBatchStream(data)

    server = Server()
    tell(server.port)
    server.serve()


def send(client, what):
    body = what.serialize()
    client.sendall(LENGTH.pack(body.size))
    client.sendall(memoryview(body))


def serve_socket(tell):
    source = Source()
    unix = KIND == "serialized-unix"
    listener = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)
    listener.bind("" if unix else ("127.0.0.1", 0))
    listener.listen(1)
    tell(listener.getsockname().decode() if unix else
         listener.getsockname()[1])
    client, _ = listener.accept()
    if not unix:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with client.makefile("r", encoding="utf-8") as texts:
        for text in texts:
            data = source.open(text.rstrip("\n"))
            send(client, data.schema)
            batches = data if SOURCE == "duckdb" else data.to_batches()
            for batch in batches:
                send(client, batch)
            client.sendall(LENGTH.pack(0))


# ---- the client -------------------------------------------------------------

class Flight:
    """A connection per stream, open all the time."""

    def __init__(self, port):
        from pyarrow import flight
        self.ticket = flight.Ticket
        self.clients = [flight.connect(f"grpc://127.0.0.1:{port}")
                        for _ in range(STREAMS)]

    def stream(self, index, text):
        ticket = self.ticket(f"{index} {STREAMS} {text}".encode())
        return (chunk.data for chunk in self.clients[index].do_get(ticket))


class Socket:
    """Batches are received into memory of their own, and not copied again."""

    def __init__(self, where):
        if where.isdigit():
            self.socket = socket.create_connection(("127.0.0.1", int(where)))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(where.encode())
        self.length = bytearray(LENGTH.size)

    def fill(self, room):
        view = memoryview(room)
        while len(view) > 0:
            n = self.socket.recv_into(view)
            if n == 0:
                raise EOFError("the server ended")
            view = view[n:]

    def part(self):
        import pyarrow
        self.fill(self.length)
        size, = LENGTH.unpack(self.length)
        if size == 0:
            return None
        body = pyarrow.allocate_buffer(size)
        self.fill(body)
        return body

    def stream(self, index, text):
        import pyarrow
        self.socket.sendall(f"{text}\n".encode())
        schema = pyarrow.ipc.read_schema(self.part())
        while (body := self.part()) is not None:
            yield pyarrow.ipc.read_record_batch(body, schema)


class Sum:
    """The sum of bench/scan/sum.c over batches: sum and bytes."""

    def __init__(self):
        self.take = ctypes.CDLL(SUM_LIBRARY).wb_scan_sum_take
        self.schema = None
        self.out = (ctypes.c_uint64 * 2)()

    def add(self, batch):
        if self.schema is None:
            self.schema = ctypes.create_string_buffer(72)
            batch.schema._export_to_c(ctypes.addressof(self.schema))
        array = ctypes.create_string_buffer(80)
        batch._export_to_c(ctypes.addressof(array))
        if self.take(self.schema, array, self.out) != 0:
            raise TypeError(f"a type that has no sum: {batch.schema}")


def run_stream(stream, reads, out):
    rows, total = 0, Sum()
    for batch in stream:
        rows += batch.num_rows
        if reads:
            total.add(batch)
    out.append((rows, *total.out))


def run_all(client, text, reads):
    parts = []
    others = [threading.Thread(target=run_stream,
                               args=(client.stream(i, text), reads, parts))
              for i in range(1, STREAMS)]
    for thread in others:
        thread.start()
    run_stream(client.stream(0, text), reads, parts)
    for thread in others:
        thread.join()
    if len(parts) != STREAMS:
        sys.exit("scan.py: a stream failed")
    return [sum(column) for column in zip(*parts)]


def answer(client, line):
    word, text = line.split(" ", 1)
    count = 1
    if word == "one":
        count, text = text.split(" ", 1)
    rows = 0
    begin = time.perf_counter()
    for _ in range(int(count)):
        some, total, size = run_all(client, text, word != "take")
        rows += some
    seconds = time.perf_counter() - begin
    print(f"rows {rows} bytes {size} sum {total % 2 ** 64} seconds "
          f"{seconds:.9f}", flush=True)


def main():
    """The server is forked before there is any thread, and ends with us."""
    told, tell = os.pipe()
    life, alive = os.pipe()
    if os.fork() == 0:
        os.close(alive)
        threading.Thread(target=lambda: os._exit(len(os.read(life, 1))),
                         daemon=True).start()
        serve = serve_flight if KIND.startswith("flight") else serve_socket
        serve(lambda where: os.write(tell, f"{where}\n".encode()))
        os._exit(0)
    os.close(tell)
    os.close(life)
    with os.fdopen(told, encoding="utf-8") as lines:
        where = lines.readline().strip()
    if where == "":
        sys.exit("scan.py: the server did not start")
    import pyarrow
    client = (Flight if KIND.startswith("flight") else Socket)(where)
    print(f"ready pyarrow {pyarrow.__version__}", flush=True)
    for line in sys.stdin:
        answer(client, line.rstrip("\n"))


main()
