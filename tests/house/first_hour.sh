#!/bin/bash
# README and the guide on a bare Debian 12, line by line: from the clone to the portal as a user without root, then module
# files and Slurm as root. The first line that does not do what the text says ends it. Needs root, debootstrap, a network,
# 6 GB below $TMPDIR and a quarter of an hour. `make fresh-machine` runs it. Units of systemd are not started
# here (tests/deploy/test_units.py), nor ./bootstrap test (tests/house/fresh_machine.sh).
#   tests/house/first_hour.sh [user] [modules] [slurm]      default: all
set -euo pipefail
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
[ $# -gt 0 ] || set -- user modules slurm
. "$(dirname "$0")/bare_debian.sh"

fail() {
	echo "first-hour: $*" >&2
	exit 1
}

# inside ID COMMAND: by a login shell of this user. Where the site has its own certificate authority, pip needs it.
inside() {
	local id=$1 user=root home=/root
	shift
	[ "$id" = 0 ] || user=ann home=/home/ann
	env -i USER=$user LOGNAME=$user HOME=$home LANG=C.UTF-8 \
		PATH="${path:-}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
		DEBIAN_FRONTEND=noninteractive NO_COLOR=1 ${PIP_CERT:+PIP_CERT=/etc/site-ca.crt SSL_CERT_FILE=/etc/site-ca.crt} \
		chroot "$root" setpriv --reuid "$id" --regid "$id" --clear-groups bash -c "cd $home; [ ! -d iolens ] || cd iolens; $*"
}
# tried WHO COMMAND: shows the command, and what it says if it fails
tried() {
	echo "$([ "$1" = 0 ] && echo '#' || echo '$') $2"
	inside "$1" "$2" >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; fail "does not do what the text says: $2"; }
}
apt() {
	tried 0 "apt-get -q install -y --no-install-recommends $*"
}
# A user without root: what is missing is named with the command for root.
bootstrapped() {
	for _ in 1 2 3 4 5 6; do
		echo "\$ $1"
		! inside 1000 "$1" >"$root.log" 2>&1 || return 0
		packages=$(sed -n 's/^bootstrap: not root and no sudo; as root: apt-get install //p' "$root.log")
		[ -n "$packages" ] || break
		apt "$packages"
	done
	tail -n 20 "$root.log" >&2
	fail "does not do what the text says: $1"
}
# lines PAGE [PATTERN]: commands of its blocks without a language; those behind a prompt, or all that begin as commands do
lines() {
	awk '/^```$/ { inside = !inside; next } /^```/ { inside = 0; skip = !skip; next } inside' "$root/home/ann/iolens/$1" |
		sed -n 's/^\$ //; /^\(iolens\|git\|\.\/bootstrap\) [^:]/p' | grep -E "${2:-.}"
}
# named PAGE PATTERN: commands in tables and sentences, into the list `named`
named() {
	mapfile -t named < <(grep -oE '`[^`]+`' "$root/home/ann/iolens/$1" | tr -d '`' | grep -E "^($2)")
	[ "${#named[@]}" -ge "$3" ] || fail "$1 names fewer than $3 of: $2"
}

echo "== a bare Debian 12"
bare_debian first-hour bookworm --include=ca-certificates,git
echo "127.0.0.1 $(uname -n)" >>"$root/etc/hosts"
tried 0 "apt-get update"
tried 0 "useradd --create-home --uid 1000 ann && mkdir -p /darshan/logs /data && chown ann /darshan/logs /data"
git clone -q --bare "$repository" "$root/srv/iolens.git"
tried 1000 "git config --global --add safe.directory /srv/iolens.git"
tried 1000 "$(sed -n 's,^git clone THIS_REPOSITORY,git clone /srv/iolens.git,p' "$repository/README.md")"

user() {
	echo "== README and first look, as a user without root"
	while read -r line; do
		case $line in *"./bootstrap test"*) ;; *) bootstrapped "${line%%#*}" ;; esac
	done < <(lines README.md '^\./bootstrap')
	path=/home/ann/iolens/.venv/bin:
	page=docs/guide/first-look.md
	inside 1000 "sed -n '/^import random, sqlite3/,/^\`\`\`/{/^\`\`\`/d;p}' $page >ingest.py"
	while read -r line; do
		if [[ $line == *after.darshan* ]]; then # what the page says in words
			tried 1000 'sed -i "s/^for /db.execute(\"begin\")\n&/; \$a db.execute(\"commit\")" ingest.py && rm readings.db'
			tried 1000 'iolens run -o after.darshan -- python3 ingest.py'
		fi
		inside 1000 "$line" >"$root.log" 2>&1 || [[ $line == "iolens findings"* && $? = 1 ]] || { cat "$root.log" >&2; fail "$line"; }
		echo "\$ $line"
	done < <(lines $page)
	grep -q 'database_commits' <(inside 1000 'iolens findings before.darshan || true') || fail "the finding of README is not found"
	while read -r line; do tried 1000 "$line"; done < <(lines README.md '^iolens (report|files|sql|show) ')
	inside 1000 'cp before.darshan "/darshan/logs/ann_python3_id1-1_1-1-1-1_1.darshan"'
	while read -r line; do brought "${line%%  *#*}"; done < <(lines README.md '^iolens fleet ')
	portal "$(lines README.md '^iolens serve')"
}
# What a command lacks, it names with the command that brings it.
brought() {
	for _ in 1 2 3; do
		echo "\$ $1"
		! inside 1000 "$1" >"$root.log" 2>&1 || return 0
		brings=$(sed -n 's/^iolens: .* needs .*: \(.* -m pip install .*\)/\1/p' "$root.log")
		[ -n "$brings" ] || break
		tried 1000 "$brings"
	done
	tail -n 20 "$root.log" >&2
	fail "does not do what the text says: $1"
}
portal() {
	local serve=${1%%  *#*} brings
	inside 1000 "timeout 5 $serve" >"$root.log" 2>&1 || true
	brings=$(sed -n 's/^iolens: .* needs .*: \(.* -m pip install .*\)/\1/p' "$root.log")
	[ -z "$brings" ] || tried 1000 "$brings"
	echo "\$ $serve"
	inside 1000 "exec $serve" >"$root.log" 2>&1 &
	daemons+=($!)
	for ((i = 0; i < 300; i++)); do
		address=$(grep -oE 'https?://[^ ]+' "$root.log" | head -n 1) || true
		[ -z "$address" ] || break
		sleep 0.1
	done
	[ -n "$address" ] || { cat "$root.log" >&2; fail "the portal names no address"; }
	cat >"$root/tmp/visit.py" <<-'PY'
		import http.cookiejar, sys, urllib.request
		jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
		visit = urllib.request.build_opener(jar)
		visit.open(sys.argv[1], timeout=60).read()
		page = visit.open(sys.argv[1].split("/", 3)[0] + "//" + sys.argv[1].split("/")[2] + "/jobs", timeout=60).read().decode()
		assert "ingest.py" in page, page
	PY
	tried 1000 "python3 /tmp/visit.py '$address'"
}

modules() {
	echo "== module files, as root"
	[ -e "$root/home/ann/iolens/build/runtime/libiolens.so" ] || bootstrapped "./bootstrap build"
	apt environment-modules
	tried 0 "mkdir -p /opt/iolens/iolens/lib /opt/iolens/bin && cp /home/ann/iolens/build/runtime/libiolens.so /opt/iolens/iolens/lib"
	named docs/guide/site-kit.md 'mkdir -m 1777|cp deploy/modulefiles/(iolens|zz-iolens.sh) /' 3
	for line in "${named[@]}"; do tried 0 "cd /home/ann/iolens && $line"; done
	said=$(inside 1000 'exec bash --login -c "echo \$LD_PRELOAD"' 2>&1)
	[ "$said" = /opt/iolens/iolens/lib/libiolens.so ] || fail "a login shell says: $said"
	tried 0 "rm -r /etc/profile.d/zz-iolens.sh /opt/iolens /logs"
}

slurm() {
	echo "== Slurm, as root"
	local page=docs/guide/slurm.md host
	host=$(uname -n)
	inside 0 'git config --global --add safe.directory "*"'
	named $page '\./bootstrap wheel|\.venv/bin/|apt-get |mkdir ' 7
	for line in "${named[@]}"; do
		[[ $line != apt-get* ]] || line="$line -y"
		tried 0 "cd /home/ann/iolens && $line"
	done
	apt munge slurmctld slurmd slurm-client
	cat >"$root/etc/slurm/slurm.conf" <<-CONF
		ClusterName=first
		SlurmctldHost=$host(127.0.0.1)
		SlurmctldPort=16817
		SlurmdPort=16818
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		StateSaveLocation=/var/spool/slurmctld
		SlurmdSpoolDir=/var/spool/slurmd
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		SelectType=select/cons_tres
		MpiDefault=none
		SlurmdParameters=config_overrides
		NodeName=$host NodeAddr=127.0.0.1 CPUs=4 RealMemory=512
		PartitionName=all Nodes=$host Default=YES State=UP
	CONF
	echo CgroupPlugin=cgroup/v1 >"$root/etc/slurm/cgroup.conf"
	sed -n 's/^optional .*/&/p' "$root/home/ann/iolens/$page" >"$root/etc/slurm/plugstack.conf"
	sed -nE '/^(Prolog|Epilog)=\/etc\/iolens/p' "$root/home/ann/iolens/$page" | head -n 2 >>"$root/etc/slurm/slurm.conf"
	inside 0 'mkdir -p /run/munge /var/spool/slurmctld && chown munge /run/munge'
	chroot "$root" setpriv --reuid munge --regid munge --clear-groups munged --foreground --num-threads 1 >"$root.munged" 2>&1 &
	daemons+=($!)
	sleep 1
	chroot "$root" slurmctld -D >"$root.ctld" 2>&1 &
	daemons+=($!)
	chroot "$root" slurmd -D -N "$host" >"$root.slurmd" 2>&1 &
	daemons+=($!)
	for ((i = 0; i < 300; i++)); do [ "$(inside 0 'sinfo -h -o %T' 2>/dev/null)" != idle ] || break; sleep 0.1; done
	echo '$ srun cat /etc/hosts'
	said=$(cd / && inside 1000 'cd /tmp && IOLENS_ENABLE_NONMPI=1 srun cat /etc/hosts 2>&1 >/dev/null')
	[ -z "$said" ] || fail "srun says: $said"
	log=$(find "$root/logs/iolens" -name 'ann_cat_*.darshan')
	[ -n "$log" ] && [ "$(stat -c %u "$log")" = 1000 ] || fail "no log of the job: $(find "$root/logs/iolens")"
	named $page '(sh /etc|srun /opt).*iolens doctor' 2
	for line in "${named[@]}"; do tried "$([[ $line == srun* ]] && echo 1000 || echo 0)" "cd /tmp && $line"; done
}

for part; do "$part"; done
echo "== every line did what the text says"
