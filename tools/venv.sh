#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# venv.sh LIST...: a virtual environment of Python in the user's cache, with
# what tools/pip/LIST.txt names, in this order; prints where it is. Made once
# for each content of the lists.
#
# pip takes nothing whose hash is not in the list, installs what is in it and
# no more, and fetches nothing to build with: what has to be built (Spark, which
# is published as a source alone) is built with a list before it. The lists are
# whole; pip-compile of the package pip-tools makes them, such as
#
#   echo duckdb==1.5.6 | pip-compile --generate-hashes --no-annotate \
#       --no-header --no-emit-index-url --no-emit-find-links -o NAME.txt -
set -eu

lists=$(cd "$(dirname "$0")/pip" && pwd)
files=
for name; do
    files="$files $lists/$name.txt"
    last=$name
done
# shellcheck disable=SC2086 # words
content=$(cat $files | sha256sum | cut -c 1-12)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/weir/python/$last-$content
if [ ! -f "$venv/done" ]; then
    echo "Fetching from PyPI:" \
        $(sed -n 's/^\([a-z][^ ]*\)==\([^ ]*\).*/\1 \2/p' $files) >&2
    rm -rf "$venv"
    python3 -m venv "$venv"
    for file in $files; do
        "$venv/bin/pip" install --quiet --disable-pip-version-check \
            --require-hashes --no-deps --no-build-isolation --use-pep517 \
            --only-binary :all: --no-binary pyspark -r "$file" >&2
    done
    touch "$venv/done"
fi
echo "$venv"
