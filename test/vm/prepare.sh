#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prepare.sh CACHE: kernel and initramfs from Debian packages, in a folder of
# CACHE whose name is their version and a hash of what made them; prints that
# folder. If it is there already, this takes less than a second.
#
# The packages are unpacked, never installed. siw is not among Debian's
# modules: it is built from the kernel's source against its headers.
set -eu
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

# What linux-image-amd64 stands for today, as "6.1.0-50-amd64 6.1.170-3"
newest() {
    apt-cache show --no-all-versions linux-image-amd64 2>/dev/null |
        sed -n 's/^Depends: linux-image-\([^ ]*\) (= \(.*\))$/\1 \2/p'
}

# The image names its version; headers, tools and source must be of the same.
fetch() {
    apt-get -q -o APT::Sandbox::User=root download \
        "linux-image-$abi=$version" "linux-headers-$abi=$version" \
        "linux-headers-${abi%-amd64}-common=$version" \
        "linux-kbuild-$series=$version" "linux-source-$series=$version" >&2
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

pack() {
    mkdir -p initramfs/bin initramfs/modules initramfs/proc initramfs/sys \
        initramfs/dev initramfs/lower initramfs/upper initramfs/root
    cp /bin/busybox initramfs/bin/
    install -m 755 "$here/init" initramfs/init
    for module in $modules; do
        modprobe -d root -S "$abi" --show-depends "$module" >depends ||
            die "no module $module"
        sed -n 's/^insmod //p' depends
    done | awk '!seen[$1]++ { print $1 }' >files
    while read -r file; do
        cp "$file" initramfs/modules/
        basename "$file"
    done <files >initramfs/modules/order
    (cd initramfs && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1) >initrd
}

found=$(newest)
[ -n "$found" ] || { update_lists && found=$(newest); }
[ -n "$found" ] || die "apt does not know linux-image-amd64"
abi=${found% *}
version=${found#* }
series=$(echo "$abi" | cut -d . -f 1,2)
hash=$(cat "$here/init" "$0" | sha256sum | cut -c 1-12)
dir=$cache/$version-$hash

if [ ! -f "$dir/initrd" ]; then
    note "preparing Linux $abi ($version) in $dir"
    work=$(mktemp -d "$cache/work.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    cd "$work"
    fetch || { update_lists && fetch; } || die "cannot download Linux $version"
    unpack
    build_siw
    pack
    mkdir -p "$dir"
    mv "root/boot/vmlinuz-$abi" "$dir/vmlinuz"
    mv initrd "$dir/initrd" # last: with it, the folder is complete
fi
echo "$dir"
