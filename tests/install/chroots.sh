#!/bin/bash
# The wheels of dist/ in chroots of distributions that are older and newer than this machine, each with its own Python:
# from nothing to a report. Needs root, debootstrap and a network, 1 GB below $TMPDIR and some minutes.
#   tests/install/chroots.sh [SUITE...]      default: all of the table
set -euo pipefail
cd "$(dirname "$0")/../.."

# suite, whose, components, what debootstrap is told besides (Debian has no package of Ubuntu's keys)
suites() {
	cat <<'TABLE'
bullseye Debian main
bookworm Debian main
trixie Debian main
jammy Ubuntu main,universe --no-check-gpg
noble Ubuntu main,universe --no-check-gpg
TABLE
}

# Where this machine has its packages from; another distribution's mirror is told by DEBIAN_MIRROR or UBUNTU_MIRROR.
mirror_of() {
	local told="${1^^}_MIRROR"
	told=${!told:-}
	[ -z "$told" ] || { echo "$told"; return; }
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Origin: $1" | grep -v security | head -n 1
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
	read -r suite whose components more <<<"$row"
	mirror=$(mirror_of "$whose")
	[ -n "$mirror" ] || { echo "== $suite is left out: no mirror of $whose is known, tell ${whose^^}_MIRROR"; continue; }
	root=$(mktemp -d --tmpdir iolens-chroot.XXXXXX)
	# An older debootstrap does not know a newer Ubuntu, which is made as all since gutsy are.
	script=
	[ "$whose" != Ubuntu ] || [ -e "/usr/share/debootstrap/scripts/$suite" ] || script=/usr/share/debootstrap/scripts/gutsy
	# shellcheck disable=SC2086 # one word per option
	debootstrap --variant=minbase --components="$components" $more --include=python3,python3-venv,python3-pip,ca-certificates \
		"$suite" "$root" "$mirror" $script >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; exit 1; }
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
	inside apt-get -q -o DPkg::Lock::Timeout=120 install -y --no-install-recommends gcc libc6-dev ninja-build zlib1g-dev libbz2-dev libdeflate-dev \
		python3-dev >/dev/null 2>&1
	inside /opt/paths.sh "/opt/${source##*/}" venv
	clean
	root=
done
