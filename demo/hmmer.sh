#!/bin/sh
# What HMMER reads: protein profiles against sequences, both real, asked in two ways. A few seconds.
#   demo/hmmer.sh [DIRECTORY]      DIRECTORY keeps the data and the logs (default: a new one below $TMPDIR)
set -eu
cd "$(dirname "$0")/.."
iolens=${IOLENS:-$PWD/.venv/bin/iolens}
examples=${HMMER_EXAMPLES:-/usr/share/doc/hmmer/examples}
place=${1:-$(mktemp -d "${TMPDIR:-/tmp}/iolens-demo.XXXXXX")}

families="tutorial/Pkinase tutorial/fn3 tutorial/globins4 testsuite/2OG-FeII_Oxy_3 testsuite/Caudal_act
	testsuite/LuxC testsuite/Patched testsuite/RRM_1 testsuite/SMC_N"
alignments="tutorial/fn3 tutorial/Pkinase testsuite/Caudal_act testsuite/LuxC testsuite/Patched testsuite/RRM_1
	testsuite/SMC_N"

# Distributions compress some of the files.
example() {
	if [ -e "$examples/$1" ]; then cat "$examples/$1"; else gzip -dc "$examples/$1.gz"; fi
}

# The sequences of an alignment, without its gaps.
unaligned() {
	awk '!/^[#\/]/ && NF == 2 { s[$1] = s[$1] $2 }
		END { for (n in s) { gsub(/[.-]/, "", s[n]); print ">" n; print toupper(s[n]) } }'
}

say() {
	printf '\n== %s\n' "$1"
	shift
	[ $# = 0 ] || printf '   %s\n' "$@"
}

[ -x "$iolens" ] || { echo "demo: no $iolens: run ./bootstrap build" >&2; exit 1; }
mkdir -p "$place"
for family in $families; do
	example "$family.hmm" >"$place/one.hmm"
	hmmconvert "$place/one.hmm"
done >"$place/profiles.hmm"
rm "$place/one.hmm"
{
	example tutorial/globins45.fa
	for name in $alignments; do example "$name.sto"; done | unaligned
} >"$place/sequences.fa"
cd "$place"
hmmpress -f profiles.hmm >/dev/null
rm -f scan.darshan search.darshan

say "hmmscan, in $place" \
	"Which of $(grep -c ^NAME profiles.hmm) protein families does each of $(grep -c '>' sequences.fa) sequences belong to?"
"$iolens" run -o scan.darshan -- hmmscan --noali -o scan.out profiles.hmm sequences.fa
say "Its files" "Asked sequence by sequence, it reads the pressed profiles again each time: see re-read."
"$iolens" files scan.darshan

say "hmmsearch" "The same question, asked family by family."
"$iolens" run -o search.darshan -- hmmsearch --noali -o search.out profiles.hmm sequences.fa
say "Its files"
"$iolens" files search.darshan

say "Both" "What hmmsearch does differently, and in which files: iolens compare scan.darshan search.darshan"
"$iolens" compare scan.darshan search.darshan
say "The logs" "$place/scan.darshan" "$place/search.darshan"
say "A page about hmmscan" "iolens report --open scan.darshan"
"$iolens" report --open -o "$place/scan.html" scan.darshan
