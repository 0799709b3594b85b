#!/bin/bash
# Proves ./bootstrap on a bare Debian: no compiler, no make, no Python, empty package lists. Needs root, debootstrap and
# a network, a quarter of an hour, and 8 GB below $TMPDIR. `make fresh-machine` runs it; CI does not.
#   tests/house/fresh_machine.sh [SUITE] [COMMAND...]    default: bookworm build build test; "test tests/cli" is one, too
set -euo pipefail
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
suite=${1:-bookworm}
shift || true
[ $# -gt 0 ] || set -- build build test

[ "$(id -u)" = 0 ] || { echo "fresh-machine: chroot needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "fresh-machine: install debootstrap first" >&2; exit 1; }

root=$(mktemp -d --tmpdir iolens-fresh.XXXXXX)
clean() {
	umount -l "$root/proc" "$root/sys" "$root/dev" "$root" 2>/dev/null || true
	mountpoint -q "$root" || rm -rf --one-file-system "$root" "$root.log"
}
trap clean EXIT

debootstrap --variant=minbase "$suite" "$root" >"$root.log" || { tail -n 5 "$root.log" >&2; exit 1; }
rm -f "$root.log"
# As a machine's root is: a mount point, and open to every user.
mount --bind "$root" "$root"
chmod 755 "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount --rbind /dev "$root/dev"
cp -L /etc/resolv.conf "$root/etc/"
# Where the site has its own certificate authority, pip and npm need it; not below /etc/ssl, which ca-certificates
# rewrites.
[ -z "${PIP_CERT:-}" ] || cp -L "$PIP_CERT" "$root/etc/site-ca.crt"
git clone -q "$repository" "$root/iolens"
[ ! -d "${IOLENS_CORPUS:-$repository/../shared/corpus}" ] ||
	{ mkdir "$root/shared"; cp -r "$(dirname "${IOLENS_CORPUS:-$repository/../shared/corpus}")"/. "$root/shared"; }

for command in "$@"; do
	echo "== fresh $suite: ./bootstrap $command"
	started=$SECONDS
	# shellcheck disable=SC2086 # one word per argument
	env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
		${PIP_CERT:+PIP_CERT=/etc/site-ca.crt NODE_EXTRA_CA_CERTS=/etc/site-ca.crt} \
		chroot "$root" /iolens/bootstrap $command
	echo "== fresh $suite: ./bootstrap $command took $((SECONDS - started)) s"
done
