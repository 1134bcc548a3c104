# SPDX-License-Identifier: Apache-2.0
# Body of check_sizes.sh: "folder TAB function|file TAB lines TAB place TAB
# name" from split code.

$1 != file {
    close_file()
    file = $1
    folder = $1
    sub(/\/[^\/]*$/, "", folder)
    start = body = macro = 0
}

{
    lines = $2
}

# A macro with all its continued lines is no function.
macro || $3 ~ /^ *#/ {
    macro = $3 ~ /\\$/
    next
}

body {
    if ($3 ~ /^}/) {
        print folder "\tfunction\t" $2 - start + 1 "\t" file ":" start "\t" name
        start = body = 0
    }
    next
}

$3 == "{" {
    body = 1
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    next
}

$3 != "" {
    if (!start) {
        start = $2
        name = ""
    }
    name = name " " $3
    if ($3 ~ /[;}]$/ || $3 ~ /^[^(]*{$/) {
        start = 0
    }
}

END {
    close_file()
}

function close_file()
{
    if (file != "") {
        print folder "\tfile\t" lines "\t" file "\t" file
    }
}
