#!/bin/bash
# Two builds of the same sources, in folders of different names, under another umask, locale and time zone: is what
# gets installed the same, byte for byte? And the archives of dist/, made once more from a clone in such a folder? Ends
# with 1 and names the files that differ.
#   tests/install/reproducible.sh      after make wheel sdist deb of the last commit
set -euo pipefail
cd "$(dirname "$0")/../.."
repository=$PWD
command -v .venv/bin/meson >/dev/null || { echo "reproducible: no .venv/bin/meson: ./bootstrap build" >&2; exit 2; }
# The packages for Debian are of the last commit, the others of the working tree.
[ -z "$(git status --porcelain --untracked-files=no)" ] || { echo "reproducible: commit first: git status" >&2; exit 2; }
place=$(mktemp -d --tmpdir iolens-reproducible.XXXXXX)
trap 'rm -rf "$place"' EXIT

# install_from FOLDER PREFIX [VARIABLE=VALUE...]: sources into FOLDER, and what they make into PREFIX
install_from() {
	local folder=$1 prefix=$2
	shift 2
	mkdir -p "$folder"
	tar -x -C "$folder" -f "$place/sources.tar"
	env "$@" PATH="$repository/.venv/bin:$PATH" sh -c 'meson setup -Dtests=false --prefix=/usr "$1/build" "$1" &&
		meson compile -C "$1/build" && DESTDIR=$2 meson install -C "$1/build" --no-rebuild' sh "$folder" "$prefix" \
		>"$place/log" 2>&1 || { tail -n 20 "$place/log" >&2; exit 2; }
}

# Once: somebody may be at work on them.
git ls-files -z --cached --others --exclude-standard | tar -c -f "$place/sources.tar" --null -T -
umask 022
install_from "$place/one" "$place/first" LC_ALL=C TZ=UTC
umask 077
install_from "$place/a folder of another length/two" "$place/second" LC_ALL=C.UTF-8 TZ=Asia/Tokyo

list() {
	(cd "$1" && find . ! -path '*/__pycache__*' -printf '%y %m %p %l\n' | sed 1d | sort)
}
cmp_lists=$(diff <(list "$place/first") <(list "$place/second")) || { echo "$cmp_lists"; exit 1; }
differing=$(diff -rq --exclude=__pycache__ "$place/first" "$place/second") || { echo "$differing"; exit 1; }
files=$(cd "$place/first" && find . -type f ! -path '*/__pycache__*' | wc -l)
[ -n "$(find "$place/first" -name libiolens.so)" ] || { echo "reproducible: no libiolens.so was installed" >&2; exit 2; }
echo "reproducible: $files files, the same in both builds"

umask 077
clone=$place/of-another-length/clone
git clone -q "$repository" "$clone"
ln -s "$repository/.venv" "$clone/.venv"
mkdir "$place/temporary-files" "$place/again"
cd "$clone"
# again COMMAND...: .venv's Python with what makes archives
again() {
	env LC_ALL=C.UTF-8 TZ=Asia/Tokyo TMPDIR="$place/temporary-files" PATH="$repository/.venv/bin:$PATH" \
		"$repository/.venv/bin/python" "$@" >"$place/log" 2>&1 || { tail -n 20 "$place/log" >&2; exit 2; }
}
again -c 'import mesonpy, sys; mesonpy.build_sdist(sys.argv[1])' "$place/again"
again tools/wheel.py --to "$place/again"
again tools/deb.py --to "$place/again"
wrong=0 archives=0
for made in "$place/again"/*.{tar.gz,whl,deb}; do
	name=${made##*/}
	cmp "$repository/dist/$name" "$made" || wrong=1
	archives=$((archives + 1))
done
[ "$wrong" = 0 ] || exit 1
echo "reproducible: $archives archives of dist, the same from another folder"
