#!/bin/bash
# Proves ./bootstrap on a bare Debian: no compiler, no make, no Python, empty package lists. Needs root, debootstrap and
# a network, a quarter of an hour, and 8 GB below $TMPDIR. `make fresh-machine` runs it; CI does not.
#   tests/house/fresh_machine.sh [SUITE] [COMMAND...]    default: bookworm build build test; "test tests/cli" is one, too
set -euo pipefail
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
suite=${1:-bookworm}
shift || true
[ $# -gt 0 ] || set -- build build test

. "$(dirname "$0")/bare_debian.sh"
bare_debian fresh-machine "$suite"
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
