# SPDX-License-Identifier: Apache-2.0
# Body of check_includes.sh: reads split code, prints includes that no rule
# allows, and writes "header header" pairs to the file named by `edges`.

BEGIN {
    while ((getline line < rules) > 0) {
        n = split(line, word, / +/)
        if (word[1] != "") {
            path[++n_rules] = word[1]
        }
        for (i = 2; i <= n; i++) {
            allowed[n_rules, ++n_allowed[n_rules]] = word[i]
        }
    }
    n = split("assert complex ctype errno fenv float inttypes iso646 limits " \
              "locale math setjmp signal stdalign stdarg stdatomic stdbool " \
              "stddef stdint stdio stdlib stdnoreturn string tgmath threads " \
              "time uchar wchar wctype", word, " ")
    for (i = 1; i <= n; i++) {
        stdc["<" word[i] ".h>"] = 1
    }
    library = "^<(weir/|urcu|jansson\\.h|csv\\.h|xxhash\\.h|jemalloc/|" \
              "criterion/|mpi\\.h|infiniband/|rdma/|ucp/|uct/|ucs/)"
}

$3 ~ /^ *# *include/ {
    what = $3
    sub(/^ *# *include */, "", what)
    name = what
    gsub(/[<>"]/, "", name)
    if (what ~ /^"/ && (getline line < name) < 0) {
        print $1 ":" $2 ": " what " is not a path from the root of the tree"
    } else if (!may_include($1, what)) {
        print $1 ":" $2 ": " what " is not below this layer"
    }
    close(name)
    if (what ~ /^<weir\//) {
        name = "include/" name
    }
    if ($1 ~ /\.h$/ && (what ~ /^"/ || name ~ /^include\/weir/)) {
        print $1, name > edges
    }
}

function may_include(file, what,    r, i, item, folder)
{
    folder = file
    sub(/[^\/]*$/, "", folder)
    for (r = 1; r <= n_rules; r++) {
        if (file ~ path[r]) {
            break
        }
    }
    for (i = 1; i <= n_allowed[r]; i++) {
        item = allowed[r, i]
        if (item == "SYS" && what ~ /^</ && what !~ library) {
            return 1
        }
        if (item == "STDC" && what in stdc) {
            return 1
        }
        if (item == "OWN" && index(what, "\"" folder) == 1) {
            return 1
        }
        if (index(what, item) == 1) {
            return 1
        }
    }
    return 0
}
