#!/bin/bash
# The recipes of deploy/containers, by buildah and, where it is in PATH, by Apptainer, without a registry: their base
# images are bare Debians from debootstrap. Each image goes from nothing to a report, and the iolens that is in it, copied
# to this machine, observes a program in containers of an image without. Needs root, debootstrap, buildah, a network, 8 GB
# below $TMPDIR and twenty minutes.
#   tests/install/containers.sh        after ./bootstrap containers
set -euo pipefail
cd "$(dirname "$0")/../.."
fail() {
	echo "containers: $*" >&2
	exit 1
}
apptainer=$(command -v apptainer || true)
[ "$(id -u)" = 0 ] || fail "chroot needs root"
for command in debootstrap buildah; do
	command -v "$command" >/dev/null || fail "no $command: ./bootstrap containers"
done
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | head -n 1)

work=$(mktemp -d --tmpdir iolens-containers.XXXXXX)
chmod 755 "$work"
# Nothing of this machine's own images is used or changed.
engine() {
	buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"
}
clean() {
	engine rm --all >/dev/null 2>&1 || true
	! grep -q " $work/" /proc/self/mounts || return 0
	rm -rf --one-file-system "$work"
}
trap clean EXIT
logged() {
	"$@" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "failed: $*"; }
}
report='mkdir /tmp/work && cd /tmp/work
	echo "open(\"data.bin\", \"wb\").write(bytes(1 << 20)); print(len(open(\"data.bin\", \"rb\").read()))" >train.py
	[ "$(iolens run -q -o job.darshan -- python3 train.py)" = 1048576 ]
	iolens files job.darshan | grep -q " 2\.0 MiB .*data\.bin"
	iolens report job.darshan >/dev/null && grep -q data.bin job.html'

echo "== debian:12 from $mirror"
logged debootstrap --variant=minbase bookworm "$work/base" "$mirror"
# Engines make devices themselves, and a user's Apptainer may not.
find "$work/base/dev" -mindepth 1 -delete
# Where the site has its own certificate authority, pip needs it: as a site's own base image has it.
if [ -n "${PIP_CERT:-}" ]; then
	cp -L "$PIP_CERT" "$work/base/etc/site-ca.crt"
	printf '[global]\ncert = /etc/site-ca.crt\n' >"$work/base/etc/pip.conf"
fi
base=$(engine from scratch)
logged engine add "$base" "$work/base" /
logged engine commit "$base" docker.io/library/debian:12
logged engine commit "$base" docker.io/library/debian:12-slim
mkdir "$work/clone"
git archive HEAD | tar -x -C "$work/clone"

echo "== Dockerfile, by $(buildah --version)"
logged engine bud --isolation chroot --pull-never -f deploy/containers/Dockerfile -t iolens "$work/clone"
image=$(engine from --pull-never iolens)
engine run --isolation chroot "$image" -- sh -ec "$report" || fail "the image makes no report"
echo "in the image: a run, its files, a report"

program='dd if=/dev/zero of=/tmp/made bs=1000 count=3 2>/dev/null; wc -c </tmp/made; exit 3'
cp -a "$(engine mount "$image")/opt/iolens" "$work/opt"
other=$(engine from --pull-never debian:12-slim)
# seen COMMAND...: the program's output and exit code are as without, and what the log says of its files
seen() {
	local code=0 got
	rm -f "$work/job.darshan"
	got=$("$work/opt/bin/iolens" run -q -o "$work/job.darshan" -- "$@" 2>"$work/stderr") || code=$?
	[ "$got $code" = "3000 3" ] || fail "$*: printed '$got', ended with $code: $(cat "$work/stderr")"
	"$work/opt/bin/iolens" files "$work/job.darshan" >"$work/files"
}
# Docker, Podman and buildah give a container no variable that is not named.
in_buildah() {
	seen bash -c 'engine run --isolation chroot "$@" -e "LD_PRELOAD=$LD_PRELOAD" -e "IOLENS_SESSION=$IOLENS_SESSION" \
		"$other" -- sh -c "$program"' bash "$@"
}
# With --contain it would mount a /dev/shm of its own.
in_apptainer() {
	seen env -C / "$apptainer" -q exec --userns --bind "$work/tmp:/tmp" "$@" "$work/base" sh -c "$program"
}
export -f engine
export work other program
# observed HOW BINDS...
observed() {
	"$@"
	grep -q ' 2\.9 KiB .*/tmp/made' "$work/files" || fail "$1, with library and /dev/shm: not recorded"
	"$1"
	! grep -q /tmp/made "$work/files" || fail "$1, without the library: recorded"
	grep -q 'cannot be preloaded' "$work/stderr" || fail "$1, without the library its loader says: $(cat "$work/stderr")"
	echo "$1: a program observed from this machine with library and /dev/shm bound, unharmed without"
}
observed in_buildah -v "$work/opt:$work/opt:ro" -v /dev/shm:/dev/shm

[ -n "$apptainer" ] || { echo "== iolens.def is left out: no apptainer in PATH"; exit; }
echo "== iolens.def, by $("$apptainer" --version)"
mkdir "$work/tmp"
observed in_apptainer --bind "$work/opt" --bind /dev/shm
sed "s,^Bootstrap: docker,Bootstrap: localimage,; s,^From: .*,From: $work/base," deploy/containers/iolens.def >"$work/iolens.def"
# As users build: root, too, is to have numbers of users to map, seen by this build alone.
echo root:100000:65536 >"$work/subuid"
cd "$work/clone"
logged unshare --mount sh -ec 'mount --bind "$1/subuid" /etc/subuid; mount --bind "$1/subuid" /etc/subgid
	exec "$2" build --fakeroot "$1/iolens.sif" "$1/iolens.def"' sh "$work" "$apptainer"
"$apptainer" -q exec --userns --contain "$work/iolens.sif" sh -ec "$report" || fail "Apptainer's image makes no report"
[[ $("$apptainer" -q run --userns "$work/iolens.sif" --version) = "iolens "* ]] || fail "iolens.def: its run script"
echo "in the image: a run, its files, a report"
