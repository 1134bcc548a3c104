#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run a long suite only when it can have changed its mind.
#
#   tools/when_changed.sh NAME INPUT... -- COMMAND...
#
# INPUTs are files and folders of the last commit that COMMAND depends on. It is
# left out if it was green with the same inputs, by the same compilers, less
# than a day ago. What was green is noted in $XDG_CACHE_HOME/weir/green (the
# user's cache: a fresh clone sees it). Outside of a clone it is run always.
set -eu

name=$1
shift
inputs=
while [ "$1" != -- ]; do
    inputs="$inputs $1"
    shift
done
shift

missing=$(for i in $inputs; do [ -e "$i" ] || printf ' %s' "$i"; done)
if [ -n "$missing" ]; then
    echo "$0: $name names what is not there:$missing" >&2
    exit 2
fi

git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exec "$@"
green=${XDG_CACHE_HOME:-$HOME/.cache}/weir/green
# shellcheck disable=SC2086  # a list
now=$({
    git ls-tree -r HEAD -- $inputs
    git diff HEAD -- $inputs
    cc --version
    cargo --version
} 2>/dev/null | sha256sum | cut -d' ' -f1)

if [ -n "$(find "$green/$name" -mmin -1440 2>/dev/null)" ] &&
    [ "$(cat "$green/$name")" = "$now" ]; then
    echo "$name: not run. It was green on" \
        "$(date -r "$green/$name" '+%F %R'), and nothing it depends on has" \
        "changed."
    exit 0
fi

"$@"
mkdir -p "$green"
echo "$now" >"$green/$name"
