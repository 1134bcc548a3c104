#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh BUILD_DIRS JARS...: the plug-in's jars, build/spark/LINE/*.jar, each
# for the Spark whose jars lie in the folder JARS, with libweir_spark.so of a
# build in them. BUILD_DIRS are one build per processor, with commas.
#
# The JDK alone makes them: what they need beside it is that Spark, and a build
# tool that fetches itself is one more thing to trust.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../build/spark
builds=$1
shift

JAVA_HOME=${JAVA_HOME:-$(echo /usr/lib/jvm/java-17-openjdk-*)}

# native FOLDER: the libraries, each where Java says its own processor's is.
native()
{
    for build in $(echo "$builds" | tr , ' '); do
        library=$build/libweir_spark.so
        case $(LC_ALL=C od -An -j18 -N1 -tu1 "$library") in
        *62) arch=amd64 ;;
        *183) arch=aarch64 ;;
        esac
        mkdir -p "$1/$arch"
        cp "$library" "$1/$arch"
    done
}

for jars in "$@"; do
    core=$(basename "$jars"/spark-core_*.jar .jar) # spark-core_2.13-4.3.0
    spark=${core##*-}
    scala=${core#*_}
    line=${spark%.*}
    classes=$out/$line/classes
    jar=$out/$line/weir-spark-${line}_${scala%%-*}.jar
    rm -rf "$classes" "$out/$line"/*.jar
    mkdir -p "$classes"
    # shellcheck disable=SC2046 # no source has a blank
    "$JAVA_HOME/bin/javac" --release 17 -encoding UTF-8 -proc:none \
        -Xlint:all,-path,-classfile,-deprecation \
        -cp "$jars/*" -d "$classes" $(find "$here/src" -name '*.java')
    native "$classes/weir-native"
    "$JAVA_HOME/bin/jar" --create --file "$jar" -C "$classes" .
done
