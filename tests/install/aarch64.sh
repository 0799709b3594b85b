#!/bin/bash
# A cross build for AArch64, and what of it an emulator can run: the unit tests, and a program with the preload library,
# whose log this machine's iolens reads. Needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user, a network for
# the sources of zlib, bzip2 and libdeflate, and some minutes. qemu-user cannot start other programs by itself: no
# iolens run, no exec.
#   tests/install/aarch64.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
sysroot=/usr/aarch64-linux-gnu
for needed in aarch64-linux-gnu-gcc qemu-aarch64; do
	command -v $needed >/dev/null || { echo "aarch64: there is no $needed: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" >&2; exit 1; }
done
place=$(mktemp -d --tmpdir iolens-aarch64.XXXXXX)
trap 'rm -rf "$place"' EXIT
fail() {
	echo "aarch64: $*" >&2
	exit 1
}
emulated() {
	qemu-aarch64 -L $sysroot "$@"
}

mkdir -p "$place"/{sources,include,lib,logs}
.venv/bin/python - "$place" <<'PY'
import shutil
import sys
from pathlib import Path

sys.path.insert(0, "tools")
import wheel

place = Path(sys.argv[1])
wheel.fetch(place / "sources")
for name, archive in wheel.ARCHIVES.items():
    source = wheel.unpack(place / "sources", archive.package, place)
    made = [place / f"{archive.package}-{unit.replace('/', '-')}.o" for unit in archive.units.split()]
    for unit, to in zip(archive.units.split(), made):
        wheel.run("aarch64-linux-gnu-gcc", *wheel.HIDDEN, f"-I{source}", "-c", source / f"{unit}.c", "-o", to)
    wheel.run("aarch64-linux-gnu-ar", "rcs", place / "lib" / name, *made)
    for header in archive.headers.split():
        shutil.copy(source / header, place / "include")
PY
# Of this machine's Python: its types have the same sizes there.
mkdir "$place/include/aarch64-linux-gnu"
for headers in /usr/include/*/python3*; do ln -s "$headers" "$place/include/aarch64-linux-gnu/"; done
cat >"$place/cross.ini" <<-INI
	[binaries]
	c = 'aarch64-linux-gnu-gcc'
	ar = 'aarch64-linux-gnu-ar'
	strip = 'aarch64-linux-gnu-strip'
	objcopy = 'aarch64-linux-gnu-objcopy'
	[built-in options]
	c_args = ['-I$place/include']
	[host_machine]
	system = 'linux'
	cpu_family = 'aarch64'
	cpu = 'aarch64'
	endian = 'little'
INI
export PATH="$PWD/.venv/bin:$PATH"
meson setup "$place/build" --cross-file "$place/cross.ini" -Dcompressors="$place/lib" -Dkernel=disabled \
	-Dbuildtype=debugoptimized >"$place/log" 2>&1 && ninja -C "$place/build" >"$place/log" 2>&1 ||
	fail "$(tail -n 20 "$place/log")"

# Each by itself, as meson test does.
for room in format runtime lustre python; do
	mapfile -t names < <(sed -n 's/^TEST(\(\w*\))$/\1/p' tests/$room/*.c)
	for name in "${names[@]}"; do
		emulated "$place"/build/tests/$room/*-units "$name" >"$place/log" 2>&1 || fail "$name: $(head -n 20 "$place/log")"
	done
	echo "== $room: ${#names[@]} tests"
done
cat >"$place/program.c" <<-'C'
	#include <fcntl.h>
	#include <pthread.h>
	#include <stdio.h>
	#include <sys/wait.h>
	#include <unistd.h>
	static char block[4096];
	static void fill(const char *name, int times)
	{
		int f = open(name, O_CREAT | O_WRONLY, 0600);
		for (int n = 0; n < times; n++)
			if (write(f, block, sizeof block) != sizeof block)
				_exit(1);
		close(f);
	}
	static void *thread(void *name)
	{
		fill(name, 2);
		return NULL;
	}
	int main(void)
	{
		pthread_t other;
		fill("main", 3);
		FILE *f = fopen("stream", "w");
		fputs("hello", f);
		fclose(f);
		pthread_create(&other, NULL, thread, "thread");
		pthread_join(other, NULL);
		pid_t child = fork();
		if (child == 0) {
			fill("child", 1);
			_exit(0);
		}
		return waitpid(child, NULL, 0) != child;
	}
C
aarch64-linux-gnu-gcc -O2 -pthread "$place/program.c" -o "$place/program"
mkdir "$place/work"
(cd "$place/work" && emulated -E LD_PRELOAD="$place/build/runtime/libiolens.so" -E IOLENS_ENABLE_NONMPI=1 \
	-E IOLENS_LOGPATH="$place/logs" "$place/program") || fail "the program ended with $?"
for log in "$place"/logs/*.darshan; do
	all="${all:-}$(iolens sql --format csv "$log" "select parse_filename(name), bytes_written, writes from file
		where name like '$place/work/%'" | tr -d '\r' | tail -n +2)"$'\n'
done
all=$(grep . <<<"$all" | sort | tr '\n' ' ')
[ "$all" = "child,4096,1 main,12288,3 stream,5,1 thread,8192,2 " ] || fail "files: $all"
echo "aarch64: built, unit tests passed, and a program's files are counted"
