#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks tools/when_changed.sh: what is left out, and what is not.
set -eu
. "$(dirname "$0")/lib.sh"
enter "$@"
tool=$PWD/tools/when_changed.sh
cd "$tmp"
bad=$tmp/report
touch "$bad"
export XDG_CACHE_HOME="$tmp/cache"

git init -q tree
cd tree
mkdir in
echo 1 >in/file
echo 1 >other
save() {
    git add . && git -c user.name=t -c user.email=t@t commit -qm "$1"
}
save first

# expect RUNS|RESTS WHAT: does the suite run now? It ends with $code.
code=0
expect() {
    rm -f ran
    got_code=0
    "$tool" suite in -- sh -c "touch ran; exit $code" >/dev/null ||
        got_code=$?
    got=$([ -e ran ] && echo RUNS || echo RESTS)
    [ "$got" = "$1" ] || echo "$2: $got" >>"$bad"
    [ "$1" = RESTS ] || [ "$got_code" = "$code" ] ||
        echo "$2: ends with $got_code, not $code" >>"$bad"
}

code=3 && expect RUNS "never run before, and fails"
code=0 && expect RUNS "was not green"
expect RESTS "green a moment ago"
echo 2 >other && save "another file"
expect RESTS "what it does not depend on has changed"
echo 2 >in/file
expect RUNS "an input changed, not committed"
save "an input"
expect RUNS "an input changed"
expect RESTS "green again"
touch -d '25 hours ago' "$XDG_CACHE_HOME/weir/green/suite"
expect RUNS "a day has gone by"
"$tool" suite nowhere -- touch ran 2>/dev/null &&
    echo "an input that is not there is taken" >>"$bad"
mv .git ../git
expect RUNS "outside of a clone"
expect RUNS "outside of a clone again"

verdict "$bad"
