#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spark.sh VERSION: a virtual environment in the user's cache with that Spark,
# of those in tools/pip; prints where it is.
set -eu

exec "$(dirname "$0")/../../../tools/venv.sh" setuptools "spark-$1"
