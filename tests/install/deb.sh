#!/bin/bash
# The Debian packages of dist/ on a bare Debian in a chroot: installed with apt, from nothing to a report, upgraded where
# there are packages of an older version in FOLDER, and purged: is every file and link as before? Needs root, gcc,
# debootstrap, a network, 1 GB below $TMPDIR and a minute or two.
#   tests/install/deb.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
older=${1:-}
[ "$(id -u)" = 0 ] || { echo "deb: chroot needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "deb: install debootstrap first" >&2; exit 1; }
ls dist/iolens_*.deb >/dev/null 2>&1 || { echo "deb: nothing in dist/: make deb" >&2; exit 1; }
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -v security | head -n 1)

root=$(mktemp -d --tmpdir iolens-deb.XXXXXX)
clean() {
	[ ! -e "$root/tmp/service" ] || kill "$(cat "$root/tmp/service")" || true
	umount -l "$root/proc" "$root/sys" "$root/dev" 2>/dev/null || true
	mountpoint -q "$root/dev" || rm -rf --one-file-system "$root" "$root.log"
}
trap clean EXIT
fail() {
	echo "deb: $*" >&2
	exit 1
}
inside() {
	env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}
apt() {
	inside apt-get -q -y --no-install-recommends "$@" >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; exit 1; }
}
# Without what apt and dpkg keep for themselves.
list() {
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./opt -o -path ./var/lib/dpkg -o -path ./var/log \
		-o -path ./var/cache -o -path ./var/lib/apt -o -path ./tmp \) -prune -o -printf '%y %p %l\n' | sort)
}
report() {
	inside sh -ec 'mkdir -p /tmp/work && cd /tmp/work && rm -f job.*
		echo "open(\"data.bin\", \"wb\").write(bytes(1 << 20)); print(len(open(\"data.bin\", \"rb\").read()))" >train.py
		[ "$(iolens run -q -o job.darshan -- python3 train.py)" = 1048576 ]
		iolens files job.darshan | grep -q " 2\.0 MiB .*data\.bin"
		iolens report job.darshan >/dev/null && grep -q data.bin job.html' || fail "no report: $1"
}
# What iolens-kernel knows of a program that nothing can be preloaded into; where eBPF is refused, its totals.
static_program() {
	cc -static -o "$root/tmp/static" -x c - <<-'C'
		#include <fcntl.h>
		#include <unistd.h>
		static char block[4096];
		int main(void)
		{
			int f = open("made", O_CREAT | O_WRONLY, 0600), n = 0;
			while (n < 3 && write(f, block, sizeof block) == sizeof block)
				n++;
			return n < 3 || close(f);
		}
	C
	[[ $(inside iolens-kernel --help) = 'usage: iolens-kernel --node'* ]] || fail "iolens-kernel --help"
	inside sh -ec 'cd /tmp/work && iolens run --kernel -o static.darshan -- /tmp/static' >"$root.log" 2>&1 ||
		fail "a static program: $(cat "$root.log")"
	if refused=$(grep -o 'run: --kernel: .*' "$root.log"); then
		grep -q 'observed by   totals: 1 of 1 process' "$root.log" || fail "a static program: $(cat "$root.log")"
	else
		[[ $(inside iolens files /tmp/work/static.darshan) = *' 12.0 KiB '*/made* ]] || fail "a static program has no file"
	fi
	[ -e "$root/lib/systemd/system/iolens-kernel.service" ] || fail "no unit"
	started=$(inside find /etc/systemd -name 'iolens-kernel*')
	[ -z "$started" ] || fail "installing has switched it on: $started"
}
# The service as its unit and its settings are installed, and the one step that the guide asks for; no systemd runs here.
node_service() {
	local log made
	inside sh -c 'mkdir -m 1777 -p /logs/iolens && mkdir -m 711 /run/iolens-kernel
		echo $$ >/tmp/service; set -a && . /etc/iolens/kernel.conf && exec $(sed -n s/^ExecStart=//p /lib/systemd/system/iolens-kernel.service)' \
		>"$root.log" 2>&1 &
	for ((i = 0; i < 300; i++)); do ! grep -q ready "$root.log" || break; sleep 0.1; done
	grep -q ready "$root.log" || fail "iolens-kernel --node: $(cat "$root.log")"
	made=$(mktemp -d --tmpdir="$root/tmp") && chown 1000 "$made"
	# In a session of its own: without a scheduler a process group is a job, and this script's goes on.
	env -i PATH=/usr/sbin:/usr/bin:/bin setsid -w chroot --userspec=1000:1000 "$root" sh -c "cd ${made#"$root"} && /tmp/static"
	for ((i = 0; i < 300; i++)); do
		log=$(find "$root/logs/iolens" -name '*.darshan')
		[ -z "$log" ] || break
		sleep 0.1
	done
	kill "$(cat "$root/tmp/service")"
	wait $! || true
	rm "$root/tmp/service"
	[ -n "$log" ] && [ "$(stat -c %u "$log")" = 1000 ] || fail "iolens-kernel --node made no log: $(cat "$root.log")"
	[[ $(inside iolens files "${log#"$root"}") = *' 12.0 KiB '*/made* ]] || fail "iolens-kernel --node: a log without the file"
	rm -r "$root/logs" "$root/run/iolens-kernel"
}

debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" || { tail -n 5 "$root.log" >&2; exit 1; }
chmod 755 "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sys "$root/sys"
mount --rbind /dev "$root/dev"
cp -L /etc/resolv.conf "$root/etc/"
# What the packages depend on is not theirs to remove.
apt install python3 libbpf1 libbz2-dev zlib1g-dev
list >"$root/tmp/before"

if [ -n "$older" ]; then
	mkdir "$root/opt/older"
	cp "$older"/*.deb "$root/opt/older"
	inside sh -c 'apt-get -q -y --no-install-recommends install /opt/older/*.deb' >"$root.log" 2>&1 || { cat "$root.log" >&2; exit 1; }
	had=$(inside dpkg-query -W -f '${Version}' iolens)
	report "$had"
fi
cp dist/*.deb "$root/opt"
inside sh -c 'apt-get -q -y --no-install-recommends install /opt/*.deb' >"$root.log" 2>&1 || { cat "$root.log" >&2; exit 1; }
version=$(inside dpkg-query -W -f '${Version}' iolens)
[ -z "$older" ] || [ "$had" != "$version" ] || fail "$older has the same version, $version"
report "$version"
broken=$(inside find /usr/lib/iolens /usr/bin/iolens -xtype l)
[ -z "$broken" ] || fail "links to nothing: $broken"
static_program
[ -n "${refused:-}" ] || node_service
apt remove iolens-analysis
said=$(inside sh -c 'iolens report /tmp/work/job.darshan 2>&1 >/dev/null') && fail "a report without iolens-analysis"
[[ $said = *": apt install iolens-analysis" && $said != *$'\n'* ]] || fail "without iolens-analysis it says: $said"
apt purge iolens iolens-analysis iolens-kernel iolens-slurm libiolens-dev libiolens-log0
list >"$root/tmp/after"
left=$(diff "$root/tmp/before" "$root/tmp/after") || fail "purged, and yet different: $left"
echo "deb: $version on $suite, to a report${had:+, upgraded from $had}, purged without remains${refused:+; static programs: $refused}"
