#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# hardened.sh FILE...: libraries, programs and archives that are installed or
# packaged are hardened (cmake/WeirHarden.cmake): one line per fault.
#
#   linked files   full RELRO; a stack that cannot run; no segment that can be
#                  written and run; programs at any address; no place to look
#                  for libraries but beside the file ($ORIGIN); C of ours that
#                  has a stack protector and FORTIFY
#   archives       every object of x86-64 is marked for CET
#
# A linked file is marked for CET if all that is linked to it is, the compiler's
# and libc's own beginnings too, which Debian 12's are not: hence by the object.
set -eu

faults=0
bad() { # TEXT: of $file
    echo "$file: $*"
    faults=$((faults + 1))
}

elf() {
    LC_ALL=C readelf -W "$@"
}

segments() {
    case $headers in *GNU_RELRO*) ;; *) bad "no segment is RELRO" ;; esac
    case $headers in *GNU_STACK*) ;; *) bad "does not say what its stack is" ;;
    esac
    if echo "$headers" | grep -q 'RWE'; then
        bad "a segment that can be written and run"
    fi
    case $headers in
    *"Elf file type is DYN"*) ;;
    *) bad "a program at a fixed address" ;;
    esac
}

dynamic() {
    dynamic=$(elf -d "$file")
    echo "$dynamic" | grep -Eq '\((FLAGS|FLAGS_1|BIND_NOW)\).*NOW' ||
        bad "binds late: RELRO is not full"
    paths=$(echo "$dynamic" | sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p')
    # An empty place is the folder that a program happens to be started in.
    case $paths in
    '' | '$ORIGIN') ;;
    *) bad "looks for libraries in \"$paths\"" ;;
    esac
}

checked_calls() {
    names=$(elf --dyn-syms "$file")
    case $names in
    *__stack_chk_fail*) ;;
    *) bad "no stack protector" ;;
    esac
    echo "$names" | grep -v __stack_chk_fail | grep -q '_chk\(@\|$\)' ||
        bad "no FORTIFY"
}

# An object is a line "File: LIB(OBJECT)"; what it has of CET comes after it.
archive() {
    case $(elf -h "$file" 2>&1) in *X86-64*) ;; *) return ;; esac
    elf -n "$file" >"$work/notes" 2>&1
    elf -h "$file" 2>/dev/null | sed -n 's/^File: //p' >"$work/objects"
    [ -s "$work/objects" ] || bad "no object"
    awk '
        /^File: / { object = substr($0, 7) }
        /IBT/ && /SHSTK/ { marked[object] = 1 }
        END {
            while ((getline object <ARGV[2]) > 0) {
                if (!marked[object]) {
                    print object
                }
            }
        }' "$work/notes" "$work/objects" >"$work/unmarked"
    while IFS= read -r object; do
        bad "$object is not marked for CET"
    done <"$work/unmarked"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
[ $# -gt 0 ] || {
    echo "hardened.sh: which files?" >&2
    exit 2
}
for file; do
    [ -f "$file" ] || {
        bad "is not there"
        continue
    }
    case $file in
    *.a) archive ;;
    *)
        headers=$(elf -l "$file")
        segments
        dynamic
        checked_calls
        ;;
    esac
done
[ $faults -eq 0 ] || exit 1
echo "$# files are hardened"
