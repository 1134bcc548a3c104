#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh BUILD_DIRS JARS...: the plug-in's jars, build/spark/LINE/*.jar, each
# for the Spark whose jars lie in the folder JARS, with libweir_spark.so of a
# build in them. BUILD_DIRS are one build per processor, with commas.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../build/spark
builds=$1
shift

JAVA_HOME=${JAVA_HOME:-$(echo /usr/lib/jvm/java-17-openjdk-*)}
export JAVA_HOME
arches=
for build in $(echo "$builds" | tr , ' '); do
    case $(LC_ALL=C od -An -j18 -N1 -tu1 "$build/libweir_spark.so") in
    *62) arch=amd64 ;;
    *183) arch=aarch64 ;;
    esac
    arches="$arches $arch"
    mkdir -p "$out/native/$arch"
    cmp -s "$build/libweir_spark.so" "$out/native/$arch/libweir_spark.so" ||
        cp "$build/libweir_spark.so" "$out/native/$arch/libweir_spark.so"
done
for dir in "$out"/native/* "$out"/*/classes/weir-native/*; do # of before
    case " $arches " in *" ${dir##*/} "*) ;; *) rm -rf "$dir" ;; esac
done
version()
{
    basename "$jars/$1"-[0-9]*.jar .jar | sed "s/^$1-//"
}
for jars in "$@"; do
    core=$(basename "$jars"/spark-core_*.jar .jar) # spark-core_2.13-4.3.0
    spark=${core##*-}
    scala=${core#*_}
    mvn -q -B -f "$here/pom.xml" -Dspark.jars="$(cd "$jars" && pwd)" \
        -Dspark.version="$spark" -Dspark.line="${spark%.*}" \
        -Dscala.line="${scala%%-*}" -Dscala.version="$(version scala-library)" \
        -Dmetrics.version="$(version metrics-core)" \
        -Dslf4j.version="$(version slf4j-api)" \
        -Dnetty.version="$(version netty-buffer)" package
    for arch in $arches; do
        "$JAVA_HOME/bin/jar" tf "$out/${spark%.*}"/weir-spark-*.jar |
            grep -qx "weir-native/$arch/libweir_spark.so"
    done
done
