# SPDX-License-Identifier: Apache-2.0
# Body of check_atomics.sh: edge labels of split code against the table of
# labels in the file `rows`.

BEGIN {
    site = "(^|[^A-Za-z0-9_])wi_[a-z]+_(acq|rel|ar|sc) *\\("
    while ((getline label < rows) > 0) {
        row[label] = 1
    }
}

$1 != file {
    file = $1
    block = ""
    block_end = -9
}

$4 != "" {
    if ($4 ~ /^ *\/[*\/]/ && block_end != $2 - 1) {
        block = ""
    }
    if (block_end < $2 - 3) {
        block = ""
    }
    block = block " " $4
    block_end = $2
    named_ends($4)
}

file == "core/base/atomic.h" {
    next
}

{
    code = $3
    while (match(code, site)) {
        what = substr(code, RSTART, RLENGTH)
        code = substr(code, RSTART + RLENGTH)
        gsub(/[^a-z_]/, "", what)
        check_site(what)
    }
}

END {
    for (label in seen) {
        if (!(label in row)) {
            print seen[label] ": " label " is no row of docs/concurrency.md"
        }
        if (!(label in acquires) || !(label in releases)) {
            print seen[label] ": " label " has no " \
                (label in acquires ? "release" : "acquire") " end"
        }
    }
    for (label in row) {
        if (!(label in seen)) {
            print "docs/concurrency.md: " label " is in no source"
        }
    }
}

# Labels in text, into found[1..]; returns how many.
function labels(text,    n, before)
{
    n = 0
    while (match(text, /E[0-9]+[a-z]?/)) {
        before = RSTART > 1 ? substr(text, RSTART - 1, 1) : " "
        if (before !~ /[A-Za-z0-9_]/) {
            found[++n] = substr(text, RSTART, RLENGTH)
            rest_of[n] = substr(text, RSTART + RLENGTH)
        }
        text = substr(text, RSTART + RLENGTH)
    }
    return n
}

# "E7 release" marks an end, unless it says what the other end is.
function named_ends(comment,    n, i, others)
{
    n = labels(comment)
    for (i = 1; i <= n; i++) {
        if (!(found[i] in seen)) {
            seen[found[i]] = file ":" $2
        }
    }
    others = comment
    gsub(/pairs with.*/, "", others)
    n = labels(others)
    for (i = 1; i <= n; i++) {
        if (rest_of[i] ~ /^ release/) {
            releases[found[i]] = 1
        } else if (rest_of[i] ~ /^ acquire/) {
            acquires[found[i]] = 1
        }
    }
}

function check_site(what,    n, i)
{
    n = block_end >= $2 - 3 ? labels(block) : 0
    if (n == 0) {
        print file ":" $2 ": " what " names no edge (E<number>)"
    }
    for (i = 1; i <= n; i++) {
        if (what !~ /_load_|_acq$/) {
            releases[found[i]] = 1
        }
        if (what !~ /_store_|_rel$/) {
            acquires[found[i]] = 1
        }
    }
}
