#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [--debian SUITE] [--caches] [--short] [CASE...]: what a stranger does
# first, on a machine that has nothing. Each case is a root of Debian of its own
# (SUITE, bookworm unless said otherwise; minbase with git, make,
# ca-certificates and sudo), made by mmdebstrap and removed at the end, with a
# clone of this tree's last commit in somebody's home:
#
#   root   as root, without /etc/hosts: README's first commands, then
#          `make install` and the examples against it
#   user   the same as an ordinary user who has sudo, with /etc/hosts
#   scan, adbc, rust, sql, spark
#          the first commands of that document, as that user
#   ci     .ci/run, as root, with all caches cold
#   A+B    B in the root where A has been: user+scan
#
# Without CASE: root and user. The commands are the documents' own: a block of
# code below a line <!-- fresh: NAME --> is what runs. Where a document says
# that something must be there already (Rust), it is lent from this machine.
#
# --caches lends what this machine's user has compiled before, by ccache and by
# cargo. --short runs of `make test` in the case user only what is labelled
# integration: programs, which meet users and hosts; the rest is the same for
# anybody. Needs root, or sudo.
# Passes if every command ends with 0 and no test was skipped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)

if [ "$(id -u)" -ne 0 ]; then
    exec sudo -E "$0" "$@"
fi

die() {
    echo "fresh: $*" >&2
    exit 2
}

suite=bookworm
caches=
short=
while [ $# -gt 0 ]; do
    case $1 in
    --debian)
        [ $# -gt 1 ] || die "--debian needs a suite"
        suite=$2
        shift 2
        ;;
    --caches)
        command -v ccache >/dev/null || die "no ccache: tools/setup.sh cache"
        caches=1
        shift
        ;;
    --short)
        short=1
        shift
        ;;
    -*) die "no option $1; see the head of $0" ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || set -- root user

work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' HUP INT TERM

# commands FILE NAME: what FILE has below <!-- fresh: NAME -->; `$ ` before a
# command is a prompt, and lines without one are then what it prints.
commands() {
    awk -v mark="<!-- fresh: $2 -->" '
        $0 == mark { found = 1; next }
        !found || done { next }
        /^```/ { if (inside) { done = 1 } else { inside = 1 } next }
        inside || /^    / { sub(/^    /, ""); block[++n] = $0; begun = 1; next }
        begun { done = 1 }
        END {
            for (i = 1; i <= n; i++) {
                prompts += block[i] ~ /^\$ /
            }
            for (i = 1; i <= n; i++) {
                line = block[i]
                if (!prompts) {
                    print line
                } else if (line ~ /^\$ / || goes_on) {
                    sub(/^\$ /, "", line)
                    print line
                    goes_on = line ~ /\\$/
                }
            }
            exit n == 0
        }' "$tree/$1" || die "$1 has no commands marked \"fresh: $2\""
}

# What this machine needs to reach the registries of packages, its root needs as
# well. $work/env has variables.
variables='[a-zA-Z]+_[pP][rR][oO][xX][yY]'
variables="$variables|PIP_(CERT|INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST)"
env | grep -E "^($variables)=" >"$work/env" || true
lend() { # FILE...: at the same place in the root
    for file; do
        if [ -e "$file" ]; then
            mkdir -p "$root$(dirname "$file")"
            cp -rL "$file" "$root$file"
        fi
    done
}

make_root() { # CASE: in $root
    root=$work/$1
    mkdir "$root"
    tar xf "$work/$suite.tar" -C "$root" || die "no root"
    # It is removed soon, so dpkg need not wait for the disk after each file.
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
    lend /etc/resolv.conf /etc/pip.conf /etc/npmrc \
        /usr/local/share/ca-certificates
    chroot "$root" update-ca-certificates >/dev/null 2>&1
    [ "$1" = root ] || [ "$1" = ci ] ||
        echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"
    if [ "$1" = root ] || [ "$1" = ci ]; then
        user=root
        home=/root
    else
        user=weir
        home=/home/weir
        chroot "$root" useradd -m -s /bin/bash $user
        chmod 700 "$root$home"
        echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user"
    fi
    git clone -q "file://$tree" "$root$home/weir" || die "no clone"
    chroot "$root" chown -R $user: "$home"
}

# enter COMMAND...: in $root as $user, in the clone. Its mounts and processes
# end with it.
enter() {
    # shellcheck disable=SC2016 # for the inner shell
    unshare --mount --pid --fork --kill-child sh -c '
        set -eu
        root=$1 user=$2 home=$3 work=$4 lent=$5
        shift 5
        mount --make-rprivate /
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts \
            "$root/dev/pts"
        rm -f "$root/dev/ptmx"
        ln -s pts/ptmx "$root/dev/ptmx"
        for place in $lent; do
            mkdir -p "$root${place#*=}"
            mount --bind "${place%%=*}" "$root${place#*=}"
        done
        while IFS= read -r line; do
            set -- "$line" "$@"
        done <"$work/env"
        # Not chroot alone: who is in one may make no user namespaces.
        mkdir -p "$root/old"
        cd "$root"
        pivot_root . old
        umount -l /old
        exec setpriv --reuid "$user" --regid "$user" \
            --init-groups env -i -C "$home/weir" HOME="$home" USER="$user" \
            LANG=C.UTF-8 TERM=dumb WEIR_MAX_SKIPPED=0 \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            "$@"
    ' sh "$root" "$user" "$home" "$work" "$lent" "$@"
}

# try COMMAND...: run it in the root, by what its documents say
try() {
    enter $environment "$@" </dev/null
}

timed() { # WHAT COMMAND...
    what=$1
    shift
    begin=$(date +%s)
    echo "--- fresh: $suite, $case: $what"
    "$@" || {
        echo "fresh: FAILED: $suite, $case: $what"
        exit 1
    }
    printf 'fresh: %-9s %-6s %5d s  %s\n' "$suite" "$case" \
        $(($(date +%s) - begin)) "$what" >>"$work/report"
}

# block FILE NAME: these commands in one shell; what they leave running ends.
# After a command that ends with & the next one comes when it has said
# something, as a reader would wait for that.
block() {
    {
        cat <<'SH'
trap "kill \$(jobs -p) 2>/dev/null || true" EXIT
in_background() {
    mkfifo /tmp/said
    "$@" >/tmp/said 2>&1 &
    exec 8</tmp/said
    rm /tmp/said
    read -r first <&8 # fails if it ends without a word
    echo "$first"
    cat <&8 &
}
SH
        commands "$1" "$2" >"$work/block"
        sed 's/^\([^#]*[^&#]\)& *\(#.*\)\{0,1\}$/in_background \1/' \
            "$work/block"
    } >"$root/tmp/block"
    timed "$1" try bash -ex /tmp/block
}

# each FILE NAME: each line by itself
each() {
    commands "$1" "$2" >"$work/block"
    sed 's/ *#.*//; /^$/d' "$work/block" >"$work/lines"
    [ "$short-$case" != 1-user ] ||
        sed -i 's/^make test$/& ARGS="-L integration"/' "$work/lines"
    while IFS= read -r line <&3; do
        timed "$line" try bash -ec "$line"
    done 3<"$work/lines"
}

lend_rust() {
    command -v rustup >/dev/null || die "no rustup here to lend"
    lent="$lent $(rustup show home)=/opt/rustup"
    lent="$lent $(dirname "$(command -v rustup)")=/opt/cargo/bin"
    environment="$environment RUSTUP_HOME=/opt/rustup"
    environment="$environment
        PATH=/opt/cargo/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    [ -n "$caches" ] || return 0
    for kind in cargo cargo-datafusion; do
        mkdir -p "$HOME/.cache/weir/$kind"
        chmod -R a+rwX "$HOME/.cache/weir/$kind"
        lent="$lent $HOME/.cache/weir/$kind=/opt/target/$kind"
    done
    environment="$environment CARGO_TARGET_DIR=/opt/target/cargo"
}

# A compiler cache that does not care in whose home the tree is.
lend_ccache() {
    cache=$(ccache --get-config cache_dir)
    own=$work/ccache
    mkdir -p "$cache" "$own/lib"
    chmod -R a+rwX "$cache"
    cp -L "$(command -v ccache)" "$own"
    ldd "$own/ccache" | sed -n 's,.* => \(/[^ ]*hiredis[^ ]*\) .*,\1,p' |
        xargs -r cp -L -t "$own/lib"
    cat >"$own/cc" <<SH
#!/bin/sh
LD_LIBRARY_PATH=/opt/ccache/lib exec /opt/ccache/ccache "\$@"
SH
    chmod 755 "$own/cc"
    lent="$lent $own=/opt/ccache $cache=/opt/ccache-dir"
    environment="$environment CMAKE_C_COMPILER_LAUNCHER=/opt/ccache/cc
        CCACHE_DIR=/opt/ccache-dir CCACHE_BASEDIR=$home CCACHE_NOHASHDIR=1
        CCACHE_UMASK=000"
}

one_case() { # CASE
    name=$1
    make_root "${name%%+*}"
    lent=
    environment=
    [ -z "$caches" ] || lend_ccache
    for case in $(echo "$name" | tr + ' '); do
        echo "=== fresh: $suite, $case"
        one_part
    done
    rm -rf --one-file-system "${work:?}/${name%%+*}"
}

one_part() {
    case $case in
    root | user)
        each README.md first
        grep -qx 'make demo' "$work/lines" &&
            grep -q '^make test\>' "$work/lines" ||
            die "README has other commands than this is about"
        block docs/embed.md install
        ;;
    scan) block docs/scan.md scan ;;
    adbc) block connectors/adbc/README.md adbc ;;
    rust) lend_rust && block bindings/rust/README.md rust ;;
    sql) lend_rust && block docs/sql.md sql ;;
    spark) block docs/spark.md spark ;;
    ci) environment="$environment CI=true" && timed .ci/run try bash .ci/run ;;
    *) die "no case $case; see the head of $0" ;;
    esac
}

: >"$work/report"
# The packages are those that README takes for granted, and sudo.
begin=$(date +%s)
mmdebstrap --quiet --variant=minbase \
    --include=git,make,ca-certificates,sudo "$suite" "$work/$suite.tar" ||
    die "no root of $suite"
echo "fresh: a root of $suite took $(($(date +%s) - begin)) s"
[ -z "$(git -C "$tree" status --porcelain)" ] ||
    echo "fresh: what is not committed is not tried"

for case; do
    (one_case "$case") || touch "$work/failed"
done
cat "$work/report"
[ ! -e "$work/failed" ]
