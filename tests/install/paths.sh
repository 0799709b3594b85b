#!/bin/sh
# From nothing to a report, by each way that people install Python programs, in a home of its own and with none of this
# environment but what a site's network needs. Says how long each installation took.
#   tests/install/paths.sh WHEEL PATH...     PATH: venv moved user target pipx uvx; a WHEEL may be an .tar.gz, too
# PYTHON is the interpreter to install with (python3).
set -eu
[ $# -gt 1 ] || { sed -n '2,5s/^# *//p' "$0" >&2; exit 2; }
wheel=$(realpath "$1")
shift
python=${PYTHON:-python3}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
network=$(env | grep -E '^(PIP_[A-Z_]+|UV_[A-Z_]+|SSL_CERT_[A-Z]+|[a-z]+_proxy|[A-Z]+_PROXY)=' | sed 's/ .*//' || true)

fail() {
	echo "install by $path: $*" >&2
	exit 1
}

clean() {
	# shellcheck disable=SC2086 # one word per variable
	env -i HOME="$home" PATH="$bin:/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1 $network "$@"
}

make_venv() {
	clean "$python" -m venv "$1" || fail "no virtual environment from $python"
}

# What a distribution keeps for itself (PEP 668) is given way to here: the home is thrown away.
pip_of() {
	clean "$1" -m pip install --help | grep -q break-system-packages && given=--break-system-packages || given=
	who=$1
	shift
	clean "$who" -m pip install -q --no-warn-script-location $given "$@" "$wheel" || fail "pip failed"
}

by_venv() {
	make_venv "$home/venv"
	pip_of "$home/venv/bin/python"
	bin=$home/venv/bin
}

by_moved() {
	make_venv "$home/venv"
	pip_of "$home/venv/bin/python"
	mv "$home/venv" "$home/elsewhere"
	bin=$home/elsewhere/bin
}

by_user() {
	if clean "$python" -m pip --version >/dev/null 2>&1; then
		pip_of "$python" --user
	else
		make_venv "$home/tools"
		clean "$home/tools/bin/python" -m pip --python "$python" install -q --user --break-system-packages "$wheel" || fail "pip failed"
	fi
	bin=$home/.local/bin
}

by_target() {
	make_venv "$home/tools"
	pip_of "$home/tools/bin/python" --target "$home/target"
	rm -rf "$home/tools"
	bin=$home/target/bin
}

by_pipx() {
	make_venv "$home/tools"
	clean "$home/tools/bin/python" -m pip install -q pipx || fail "no pipx"
	clean "$home/tools/bin/pipx" install --quiet --python "$(command -v "$python")" "$wheel" >/dev/null || fail "pipx failed"
	bin=$home/.local/bin
}

by_uvx() {
	make_venv "$home/tools"
	clean "$home/tools/bin/python" -m pip install -q uv || fail "no uv"
	iolens="$home/tools/bin/uvx -q --python $python --from $wheel iolens"
	clean $iolens --version >/dev/null || fail "uvx failed"
}

report() {
	mkdir "$home/work"
	cd "$home/work"
	echo 'open("data.bin", "wb").write(bytes(1 << 20)); print(len(open("data.bin", "rb").read()))' >train.py
	printed=$(clean $iolens run -q -o job.darshan -- "$python" train.py) || fail "iolens run failed"
	[ "$printed" = 1048576 ] || fail "the program printed '$printed'"
	clean $iolens files job.darshan | grep -q ' 2\.0 MiB .*data\.bin' || fail "the log has no 2 MiB of data.bin"
	clean $iolens report job.darshan >/dev/null || fail "iolens report failed"
	grep -q data.bin job.html || fail "the report does not name data.bin"
	cd /
}

for path; do
	home=$place/$path bin=$place/$path/bin iolens=iolens
	mkdir "$home"
	began=$(date +%s)
	"by_$path"
	took=$(($(date +%s) - began))
	report
	echo "$path: installed in $took s, $(clean $iolens --version) with $(clean "$python" --version)"
done
