# coreutils' own tests of the tools that move data, from $source: a line for each test, passed, failed or skipped.
# check-TESTS builds nothing; each test has a directory of its own below the build.
cd "$source" || exit 9
list=$(ls tests/cp/*.sh tests/mv/*.sh tests/ln/*.sh tests/rm/*.sh tests/dd/*.sh tests/touch/*.sh tests/du/*.sh \
	tests/ls/*.sh tests/split/*.sh tests/tail-2/*.sh tests/misc/cat-*.sh tests/misc/tee.sh tests/misc/truncate-*.sh \
	tests/misc/head-*.sh tests/misc/sort-*.sh tests/misc/csplit*.sh tests/misc/shred-*.sh tests/misc/stdbuf.sh \
	tests/misc/sync.sh tests/misc/close-stdout.sh tests/misc/wc-*.sh | tr '\n' ' ')
make -s check-TESTS TESTS="$list" 2>&1 | grep -E '^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): '
