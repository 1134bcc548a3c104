#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR [TEST...]: the plug-in with libweir_spark.so of a build under
# the oldest and the newest line of Spark that it is for. They come from PyPI,
# by pip, into the user's cache. LINES="3.5.9" chooses.
set -eu

build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=${JAVA_HOME:-$(echo /usr/lib/jvm/java-17-openjdk-*)}
export JAVA_HOME
export PYTHONFAULTHANDLER=1 PYTHONDONTWRITEBYTECODE=1

for spark in ${LINES:-3.5.9 4.3.0}; do
    venv=$("$here/spark.sh" "$spark")
    jars=$(echo "$venv"/lib/python3*/site-packages/pyspark/jars)
    "$here/../build.sh" "$build" "$jars"
    export WEIR_SPARK_JAR
    out=$here/../../../build/spark/${spark%.*}
    WEIR_SPARK_JAR=$(echo "$out"/weir-spark-*.jar)
    export PYSPARK_PYTHON="$venv/bin/python"
    echo "Spark $spark"
    cd "$here"
    log=$out/test.log
    if ! timeout --signal=ABRT 480 "$venv/bin/python" test_spark.py "$@" \
        2>"$log"; then
        tail -n 100 "$log"
        exit 1
    fi
    grep -E '^(test_|Ran|OK)' "$log"
done
