# SPDX-License-Identifier: Apache-2.0
"""Servers to be tested against: `weir serve`, as a process of its own.

The environment says where things are: WEIR_BUILD_DIR (the weir command and
libadbc_driver_weir.so), WEIR_DUCKDB (libduckdb.so) and WEIR_ADBC_SQLITE.
"""

import os
import pathlib
import select
import signal
import subprocess
import tempfile

import adbc_driver_manager.dbapi as dbapi

BUILD = pathlib.Path(os.environ["WEIR_BUILD_DIR"])
DRIVER = str(BUILD / "libadbc_driver_weir.so")
ENGINES = {
    "duckdb": ["--write", "--create"],
    "sqlite": ["--adbc", os.environ.get("WEIR_ADBC_SQLITE", ""),
               "--allow-files", "/", "--write"],
}


class Server:
    """A server of an empty database of one engine."""

    def __init__(self, engine, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [BUILD / "weir", "serve", *ENGINES[engine], *options,
             f"{self.folder.name}/data.db"],
            stdout=subprocess.PIPE,
        )
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline() if ready else b""
        self.uri = line.decode().strip()
        if not self.uri:
            self.stop()
            raise RuntimeError(f"weir serve for {engine} gives no address")

    def stop(self, how=signal.SIGTERM):
        """Ends it; gives its exit status."""
        self.process.send_signal(how)
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        self.folder.cleanup()
        return status

    def connect(self, **options):
        return dbapi.connect(
            driver=DRIVER,
            db_kwargs={"uri": self.uri, **options},
            autocommit=True,
        )
