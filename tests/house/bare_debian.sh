# A bare Debian in a chroot, for first_hour.sh and fresh_machine.sh, which source this: sets `root`, a mount point that is
# open to every user, as a machine's root is, and removes it at the end. Needs root, debootstrap and a network.
#   bare_debian NAME SUITE [OPTION OF DEBOOTSTRAP...]

daemons=() # what has to end before the directory can go

clean() {
	local daemon
	for daemon in "${daemons[@]}"; do kill "$daemon" 2>/dev/null || true; done
	umount -l "$root/proc" "$root/sys" "$root/dev" "$root" 2>/dev/null || true
	mountpoint -q "$root" || rm -rf --one-file-system "$root" "$root".*
}

bare_debian() {
	local name=$1 suite=$2
	shift 2
	[ "$(id -u)" = 0 ] || { echo "$name: chroot needs root" >&2; exit 1; }
	command -v debootstrap >/dev/null || { echo "$name: install debootstrap first" >&2; exit 1; }
	root=$(mktemp -d --tmpdir "iolens-$name.XXXXXX")
	trap clean EXIT
	debootstrap --variant=minbase "$@" "$suite" "$root" >"$root.log" || { tail -n 5 "$root.log" >&2; exit 1; }
	rm -f "$root.log"
	mount --bind "$root" "$root"
	chmod 755 "$root"
	mount -t proc proc "$root/proc"
	mount -t sysfs sys "$root/sys"
	mount --rbind /dev "$root/dev"
	cp -L /etc/resolv.conf "$root/etc/"
	# Where the site has its own certificate authority, pip and npm need it; not below /etc/ssl, which ca-certificates
	# rewrites.
	[ -z "${PIP_CERT:-}" ] || cp -L "$PIP_CERT" "$root/etc/site-ca.crt"
}
