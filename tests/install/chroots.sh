#!/bin/bash
# The wheels of dist/ in chroots of distributions that are older and newer than this machine, each with its own Python:
# from nothing to a report. Needs root, debootstrap and a network, 1 GB below $TMPDIR and some minutes.
#   tests/install/chroots.sh [SUITE...]      default: all of the table
set -euo pipefail
cd "$(dirname "$0")/../.."

# suite, mirror, components, what debootstrap is told besides (Debian has no package of Ubuntu's keys)
suites() {
	cat <<'TABLE'
bullseye http://deb.debian.org/debian main
bookworm http://deb.debian.org/debian main
trixie http://deb.debian.org/debian main
jammy http://archive.ubuntu.com/ubuntu main,universe --no-check-gpg
noble http://archive.ubuntu.com/ubuntu main,universe --no-check-gpg
TABLE
}

[ "$(id -u)" = 0 ] || { echo "chroots: chroot needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "chroots: install debootstrap first" >&2; exit 1; }
# The newest: there may be others.
wheel=$(ls -t dist/*manylinux*.whl 2>/dev/null | head -n 1)
source=$(ls -t dist/*.tar.gz 2>/dev/null | head -n 1)
[ -n "$wheel" ] && [ -n "$source" ] || { echo "chroots: nothing in dist/: make wheel sdist" >&2; exit 1; }
[ $# -gt 0 ] || set -- $(suites | cut -d' ' -f1)

root=
clean() {
	[ -z "$root" ] || umount -l "$root/proc" "$root/dev" 2>/dev/null || true
	[ -z "$root" ] || mountpoint -q "$root/dev" || rm -rf --one-file-system "$root"
}
trap clean EXIT

# Where the site has its own certificate authority, pip needs it; not below /etc/ssl, which ca-certificates rewrites.
inside() {
	env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
		${PIP_CERT:+PIP_CERT=/etc/site-ca.crt SSL_CERT_FILE=/etc/site-ca.crt} chroot "$root" "$@"
}

for suite; do
	row=$(suites | grep "^$suite ") || { echo "chroots: no suite $suite in the table" >&2; exit 2; }
	read -r suite mirror components more <<<"$row"
	root=$(mktemp -d --tmpdir iolens-chroot.XXXXXX)
	# shellcheck disable=SC2086 # one word per option
	debootstrap --variant=minbase --components="$components" $more --include=python3,python3-venv,python3-pip,ca-certificates \
		"$suite" "$root" "$mirror" >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; exit 1; }
	rm -f "$root.log"
	chmod 755 "$root"
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	cp -L /etc/resolv.conf "$root/etc/"
	[ -z "${PIP_CERT:-}" ] || cp -L "$PIP_CERT" "$root/etc/site-ca.crt"
	cp tests/install/paths.sh "$wheel" "$source" "$root/opt"
	echo "== $suite, without a compiler"
	inside /opt/paths.sh "/opt/${wheel##*/}" venv user target pipx uvx
	echo "== $suite, the source distribution"
	inside apt-get -q -o DPkg::Lock::Timeout=120 install -y --no-install-recommends gcc libc6-dev ninja-build zlib1g-dev libbz2-dev \
		python3-dev >/dev/null 2>&1
	inside /opt/paths.sh "/opt/${source##*/}" venv
	clean
	root=
done
