# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What .ci/run and test/all.sh share: steps that all run, also after one has
# failed, and a summary of them.
steps_start=$(date +%s)
steps=
failed=0

# note RESULT SECONDS TITLE
note() {
    steps="$steps
$(printf '%-8s %5d s  %s' "$1" "$2" "$3")"
}

# step TITLE COMMAND...
step() {
    title=$1
    shift
    echo
    echo "=== $title"
    begin=$(date +%s)
    if "$@"; then
        result=ok
    else
        result=FAILED
        failed=1
    fi
    note $result $(($(date +%s) - begin)) "$title"
}

# summary: of all steps; the result is 1 if one has failed
summary() {
    echo
    echo "=== summary$steps"
    echo "$((($(date +%s) - steps_start + 30) / 60)) minutes in all"
    if [ $failed -ne 0 ]; then
        echo "some step FAILED"
        return 1
    fi
    case $steps in
    *"LEFT OUT"*) echo "all steps passed, those that were left out aside" ;;
    *) echo "all steps passed" ;;
    esac
}
