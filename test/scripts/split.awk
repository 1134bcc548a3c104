# SPDX-License-Identifier: Apache-2.0
# Separates C into code and comment, line by line: "file TAB line TAB code TAB
# comment". Strings and characters are emptied, so that what they say is taken
# for neither; a comment that begins on a line keeps its opening mark.

FNR == 1 {
    inside = 0
}

{
    gsub(/\t/, " ")
    rest = $0
    code = ""
    comment = ""
    while (rest != "") {
        if (inside) {
            end = index(rest, "*/")
            if (end == 0) {
                comment = comment rest
                break
            }
            comment = comment substr(rest, 1, end + 1)
            rest = substr(rest, end + 2)
            inside = 0
        } else if (match(rest, /"|'|\/\*|\/\//) == 0) {
            code = code rest
            break
        } else {
            mark = substr(rest, RSTART, RLENGTH)
            code = code substr(rest, 1, RSTART - 1)
            rest = substr(rest, RSTART + RLENGTH)
            if (mark == "/*") {
                comment = comment mark
                inside = 1
            } else if (mark == "//") {
                comment = comment mark rest
                break
            } else {
                skip_literal(mark)
            }
        }
    }
    sub(/ +$/, "", code)
    print FILENAME "\t" FNR "\t" code "\t" comment
}

# A quote inside an #include is a path and stays.
function skip_literal(mark,    end)
{
    if (code ~ /^ *# *include *$/) {
        code = code mark rest
        rest = ""
        return
    }
    while (match(rest, /\\.|"|'/)) {
        end = RSTART + RLENGTH
        if (substr(rest, RSTART, RLENGTH) == mark) {
            code = code mark mark
            rest = substr(rest, end)
            return
        }
        rest = substr(rest, end)
    }
    rest = ""
}
