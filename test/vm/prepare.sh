#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prepare.sh CACHE: kernel and initramfs from Debian packages, in a folder of
# CACHE whose name is their version and a hash of this script; prints that
# folder. If all is there already, this takes a second.
#
# WEIR_VM_KERNEL, as 6.1.176-1: that version instead of the newest that apt has.
#
# The packages are unpacked, never installed. siw is not among Debian's
# modules: it is built from the kernel's source against its headers.
set -eu
: "${WEIR_VM_KERNEL:=}"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cache=$(cd "$1" && pwd)

# In the order of need; each brings what it depends on.
modules="virtio_pci virtio_net 9p 9pnet_virtio overlay crc32_generic
         crc32c_generic crc32_pclmul rdma_rxe rdma_ucm ib_uverbs ib_umad dummy
         veth siw"

note() {
    echo "vm: $*" >&2
}

die() {
    note "FAILED: $*"
    exit 1
}

update_lists() {
    note "updating the package lists"
    if [ "$(id -u)" -eq 0 ]; then
        apt-get -q update >&2
    else
        sudo apt-get -q update >&2
    fi
}

# parts ABI VERSION: the image names its version; headers, tools and source must
# be of the same.
parts() {
    kernel=$(echo "$1" | cut -d . -f 1,2)
    echo "linux-image-$1=$2 linux-headers-$1=$2" \
        "linux-headers-${1%-amd64}-common=$2" \
        "linux-kbuild-$kernel=$2 linux-source-$kernel=$2"
}

# What linux-image-amd64 stands for, as "6.1.0-50-amd64 6.1.170-3": the newest
# of which apt has every part. While Debian brings out a new one, some parts
# are there earlier than others.
wanted() {
    apt-cache show "linux-image-amd64${WEIR_VM_KERNEL:+=$WEIR_VM_KERNEL}" \
        2>/dev/null |
        sed -n 's/^Depends: linux-image-\([^ ]*\) (= \(.*\))$/\1 \2/p' |
        while read -r an_abi a_version; do
            for part in $(parts "$an_abi" "$a_version"); do
                apt-cache madison "${part%%=*}" |
                    grep -q "| *${part#*=} |.* Packages" || continue 2
            done
            echo "$an_abi $a_version"
            break
        done
}

fetch() {
    # shellcheck disable=SC2046 # words
    apt-get -q -o APT::Sandbox::User=root download \
        $(parts "$abi" "$version") >&2
}

unpack() {
    for part in image headers kbuild; do
        for deb in linux-"$part"-*.deb; do
            dpkg -x "$deb" root
        done
    done
    dpkg --fsys-tarfile linux-source-*.deb |
        tar -xO "./usr/src/linux-source-$series.tar.xz" | xz -dc -T0 |
        tar -x --strip-components=4 --wildcards '*/drivers/infiniband/sw/siw/*'
    [ -f siw/siw_main.c ] || die "no siw in linux-source-$series"
}

# The headers refer to /usr/src, where they are not installed.
build_siw() {
    sed -i "s,include /usr/src,include $PWD/root/usr/src," \
        "root/usr/src/linux-headers-$abi/Makefile"
    make -s -C "root/usr/src/linux-headers-$abi" M="$PWD/siw" \
        CONFIG_RDMA_SIW=m modules >&2
    strip -g siw/siw.ko
    install -D -m 644 siw/siw.ko "root/lib/modules/$abi/extra/siw.ko"
    depmod -b root "$abi"
}

# The modules, each before those that need it, and their order.
take_modules() {
    mkdir -p initramfs/modules
    for module in $modules; do
        modprobe -d root -S "$abi" --show-depends "$module" >depends ||
            die "no module $module"
        sed -n 's/^insmod //p' depends
    done | awk '!seen[$1]++ { print $1 }' >files
    while read -r file; do
        cp "$file" initramfs/modules/
        basename "$file"
    done <files >initramfs/modules/order
}

make_kernel() {
    note "preparing Linux $abi ($version) in $dir"
    rm -rf "$dir/work" # of a run that was killed
    mkdir "$dir/work"
    cd "$dir/work"
    fetch || { update_lists && fetch; } || die "cannot download Linux $version"
    unpack
    build_siw
    take_modules
    mv "root/boot/vmlinuz-$abi" initramfs "$dir"
    cd "$dir"
    rm -rf work
    mv "vmlinuz-$abi" vmlinuz # last: with it, the folder is complete
}

# Names are sorted and times are zero: the same files give the same bytes.
make_initrd() {
    cd "$dir/initramfs"
    mkdir -p bin proc sys dev lower upper root
    cp /bin/busybox bin/
    install -m 755 "$here/init" init
    find . -exec touch -d @0 {} +
    find . | LC_ALL=C sort |
        cpio -o -H newc -R 0:0 --reproducible --quiet | gzip -1n >"$dir/new"
    cd "$dir"
    rm -f initrd-*
    mv new "initrd-$1"
    ln -sf "initrd-$1" initrd
}

hash_of() {
    sha256sum "$1" | cut -c 1-12
}

found=$(wanted)
[ -n "$found" ] || { update_lists && found=$(wanted); }
[ -n "$found" ] || die "apt does not know linux-image-amd64 $WEIR_VM_KERNEL"
abi=${found% *}
version=${found#* }
series=$(echo "$abi" | cut -d . -f 1,2)
dir=$cache/$version-$(hash_of "$0")

mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9 # one at a time; the others find it done
if [ ! -f "$dir/vmlinuz" ]; then
    trap 'rm -rf "$dir/work"' EXIT
    trap 'exit 1' HUP INT TERM
    make_kernel
fi
init=$(hash_of "$here/init")
[ -f "$dir/initrd-$init" ] || make_initrd "$init"
echo "$dir"
