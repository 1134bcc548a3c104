#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD_DIR [ROUNDS [SHAPE...]]: blocks of another process through
# fetchBlocks of Spark's own client and of ours, over shm and tcp, in turn. The
# last lines of a size are medians of the ratios of single rounds. WAYS, such as
# netty,tcp, says which ways take part.
set -eu

build=$(cd "$1" && pwd)
rounds=${2:-9}
shift $(($# < 2 ? $# : 2))
here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "$here/../../.." && pwd)/build/spark
JAVA_HOME=${JAVA_HOME:-$(echo /usr/lib/jvm/java-17-openjdk-*)}
spark=${SPARK:-3.5.9}
venv=$("$here/../test/spark.sh" "$spark")
jars=$(echo "$venv"/lib/python3*/site-packages/pyspark/jars)
"$here/../build.sh" "$build" "$jars"

classes=$out/${spark%.*}/classes
mkdir -p "$out/bench" "$out/transfer"
trap 'rm -rf "$out/transfer"' EXIT
"$JAVA_HOME/bin/javac" --release 17 -nowarn -d "$out/bench" \
    -cp "$classes:$jars/*" "$here"/io/weir/spark/*.java
# Spark says what it opens, which is no news here.
cat >"$out/bench/log4j2.properties" <<'LOG'
rootLogger.level=error
LOG
opens=$(for p in java.nio sun.nio.ch java.lang java.util; do
    echo "--add-opens=java.base/$p=ALL-UNNAMED"
done)
# shellcheck disable=SC2086 # words
"$JAVA_HOME/bin/java" -Xmx1g -XX:MaxDirectMemorySize=2g $opens \
    -cp "$out/bench:$classes:$jars/*" io.weir.spark.Transfer \
    "$out/transfer" "$rounds" "$@"
