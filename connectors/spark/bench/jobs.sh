#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# jobs.sh BUILD_DIR [ROUNDS [JOB...]]: whole jobs, see jobs.py.
set -eu

build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=${JAVA_HOME:-$(echo /usr/lib/jvm/java-17-openjdk-*)}
export JAVA_HOME
spark=${SPARK:-3.5.9}
venv=$("$here/../test/spark.sh" "$spark")
jars=$(echo "$venv"/lib/python3*/site-packages/pyspark/jars)
"$here/../build.sh" "$build" "$jars"
WEIR_SPARK_JAR=$(echo "$here/../../../build/spark/${spark%.*}"/weir-spark-*.jar)
export WEIR_SPARK_JAR PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$here/../test exec "$venv/bin/python" "$here/jobs.py" "$@"
