#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh BUILD_DIR LINE...: the plug-in's jars, build/spark/LINE/*.jar, with
# libweir_spark.so of that build in them; BUILD_DIR may be several, with commas,
# one per processor.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../build/spark
builds=$1
shift

java=$(command -v javac >/dev/null && dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
JAVA_HOME=${JAVA_HOME:-$java}
export JAVA_HOME
for build in $(echo "$builds" | tr , ' '); do
    case $(LC_ALL=C od -An -j18 -N1 -tu1 "$build/libweir_spark.so") in
    *62) arch=amd64 ;;
    *183) arch=aarch64 ;;
    esac
    mkdir -p "$out/native/$arch"
    cmp -s "$build/libweir_spark.so" "$out/native/$arch/libweir_spark.so" ||
        cp "$build/libweir_spark.so" "$out/native/$arch/libweir_spark.so"
done
for line in "$@"; do
    mvn -q -B -f "$here/pom.xml" -P "spark-$line" package
done
