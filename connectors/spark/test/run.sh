#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR [TEST...]: the plug-in with libweir_spark.so of a build under
# the oldest and the newest line of Spark that it is for (spark.sh fetches them,
# into the user's cache). LINES="3.5.9" chooses. The oldest line has all
# tests; a newer one those where lines differ: readers, the life of executors.
# run.sh BUILD_DIR soak [JOBS [SEED]]: soak_spark.py instead.
# SHORT=1: of the oldest line what a newer one has; answers, kills, leaks.
set -eu

build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
JAVA_HOME=${JAVA_HOME:-$(echo /usr/lib/jvm/java-17-openjdk-*)}
export JAVA_HOME
export PYTHONFAULTHANDLER=1 PYTHONDONTWRITEBYTECODE=1
export WEIR_COMMAND="$build/weir"
newer="test_shm_and_lz4 test_tcp_zstd_and_encryption
test_tcp_is_tls_where_spark_encrypts
test_executors_that_are_killed_and_decommissioned"
program=test_spark.py
if [ "${1:-}" = soak ]; then
    program=soak_spark.py
    shift
    LINES=${LINES:-3.5.9}
fi

# What it has said goes to a file, and the end of that here if it fails.
run()
{
    log=$out/${program%.py}.log
    if ! timeout --signal=ABRT "$@" >"$log" 2>&1; then
        tail -n 100 "$log"
        exit 1
    fi
    grep -E '^(test_|Ran|OK|[0-9]+:|[0-9]+ jobs)' "$log"
}

if [ -n "${SHORT:-}" ] && [ $# -eq 0 ] && [ $program = test_spark.py ]; then
    LINES=${LINES:-3.5.9}
    # shellcheck disable=SC2046 # words
    set -- -v $(echo "$newer" | sed 's/test_/Spark.&/g')
fi

cd "$here"
for spark in ${LINES:-3.5.9 4.3.0}; do
    venv=$("$here/spark.sh" "$spark")
    jars=$(echo "$venv"/lib/python3*/site-packages/pyspark/jars)
    "$here/../build.sh" "$build" "$jars"
    "$here/../../../test/install/hardened.sh" "$build/libweir_spark.so"
    export WEIR_SPARK_JAR PYSPARK_PYTHON="$venv/bin/python"
    out=$(cd "$here/../../../build/spark/${spark%.*}" && pwd)
    WEIR_SPARK_JAR=$(echo "$out"/weir-spark-*.jar)
    echo "Spark $spark"
    if [ $program = soak_spark.py ]; then
        run 1800 "$venv/bin/python" $program "$@"
    elif [ $# -eq 0 ] && [ "$spark" != 3.5.9 ]; then
        # shellcheck disable=SC2046 # words
        run 900 "$venv/bin/python" $program -v $(echo "$newer" |
            sed 's/test_/Spark.&/g')
    else
        run 900 "$venv/bin/python" $program "$@"
    fi
done
