# SPDX-License-Identifier: Apache-2.0
# Body of check_paths.sh: reads the names of all files of the tree from the file
# `tree`, then documents, and prints what they name that is not there.

BEGIN {
    while ((getline name < tree) > 0) {
        files[++n_files] = name
        file[name] = 1
        for (sub(/^/, "/", name); name != ""; sub(/^\/[^\/]*/, "", name)) {
            ending[substr(name, 2)] = 1
        }
        name = files[n_files]
        while (sub(/\/[^\/]*$/, "", name)) {
            folder[name] = 1
        }
    }
    source = "[A-Za-z0-9_*]\\.(c|h|sh|awk|cmake|md)$"
}

# What a link leads to, from the document's own folder.
{
    rest = $0
    while (match(rest, /\]\([^)#:]+[)#]/)) {
        path = substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
        home = FILENAME
        if (!sub(/\/[^\/]*$/, "", home)) {
            home = ""
        }
        while (sub(/^\.\.\//, "", path)) {
            sub(/\/?[^\/]*$/, "", home)
        }
        if (!is_there(home == "" ? path : home "/" path)) {
            report("a link to " path)
        }
    }
}

# Names in the text: not of addresses, of <system/headers.h>, of files outside
# of the tree (/..., ./...) or in the build.
{
    rest = $0
    gsub(/\]\([^)]*\)/, "] ", rest)
    gsub(/[a-z]+:\/\/[^ )>]*/, " ", rest)
    gsub(/<[a-z_0-9\/]*\.h>/, " ", rest)
    gsub(/<[a-z]+>/, "*", rest) # a part that is to be filled in
    while (match(rest, /[A-Za-z0-9_.*~\/-]+/)) {
        path = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/[.\/]+$/, "", path)
        first = path
        sub(/\/.*/, "", first)
        if (first ~ /^[.~]?\.?$/ || first == "build") {
            continue
        }
        if (first in folder ? !is_there(path) : path ~ source && \
                              !is_ending(path)) {
            report(path)
        }
    }
}

function report(what)
{
    print FILENAME ":" FNR ": " what " is not in the tree"
}

function is_there(path)
{
    if (path ~ /\*/) {
        return matches("^" pattern(path) "(/|$)")
    }
    return path in file || path in folder
}

function is_ending(path)
{
    return path ~ /\*/ ? matches("(^|/)" pattern(path) "$") : path in ending
}

function pattern(path)
{
    gsub(/[.]/, "[.]", path)
    gsub(/\*\*\//, "\001", path)
    gsub(/\*/, "[^/]*", path)
    gsub(/\001/, "(.*/)?", path)
    return path
}

function matches(regex,    i)
{
    for (i = 1; i <= n_files; i++) {
        if (files[i] ~ regex) {
            return 1
        }
    }
    return 0
}
