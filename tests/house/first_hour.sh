#!/bin/bash
# README and the guide on a bare Debian 12, line by line, as the users that the text names: from the clone to the portal,
# module files, Slurm, the pages of the fleet, the companion in the kernel. The first line that does not do what the text
# says ends it. Needs root, debootstrap, a network, 8 GB below $TMPDIR and half an hour. `make fresh-machine` runs it. No
# systemd runs in a chroot: what a unit starts is started here, as its user and with its capabilities. Not here:
# ./bootstrap test (tests/house/fresh_machine.sh) and Debian packages (tests/install/deb.sh).
#   tests/house/first_hour.sh [user] [modules] [slurm] [fleet] [kernel]      default: all
set -euo pipefail
repository=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
[ $# -gt 0 ] || set -- user modules slurm fleet kernel
. "$(dirname "$0")/bare_debian.sh"

fail() {
	echo "first-hour: $*" >&2
	exit 1
}

# inside ID COMMAND: by a login shell of this user. Where the site has its own certificate authority, pip needs it.
inside() {
	local id=$1 user=root home=/root
	shift
	[ "$id" = 0 ] || { user=$(entry "$id" 1) && home=$(entry "$id" 6); }
	env -i USER=$user LOGNAME=$user HOME=$home LANG=C.UTF-8 \
		PATH="${path:-}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
		DEBIAN_FRONTEND=noninteractive NO_COLOR=1 ${PIP_CERT:+PIP_CERT=/etc/site-ca.crt SSL_CERT_FILE=/etc/site-ca.crt} \
		chroot "$root" setpriv --reuid "$id" --regid "$id" --init-groups ${rights:-} \
		bash -c "cd $home; [ ! -d iolens ] || cd iolens; $*"
}
# entry ID FIELD: of /etc/passwd
entry() {
	awk -F: -v id="$1" -v field="$2" '$3 == id { print $field }' "$root/etc/passwd"
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
# shell PAGE PATTERN: the same of blocks with any command, without comments
shell() {
	awk '/^```$/ { inside = !inside; prompted = taken = 0; next } /^```/ { inside = 0; skip = !skip; next } !inside { next }
		sub(/^\$ /, "") { prompted = 1; print; next } prompted { next }
		taken || /^(iolens|sudo|systemctl|rsync|rm|mkdir|install|apt|pip|sh) / { taken = 1; print }' "$root/home/ann/iolens/$1" |
		sed 's/  *# .*//; /^$/d' | grep -E "$2"
}
# The wheel that was built, in place of its name with an ellipsis.
this_wheel() {
	sed "s,dist/iolens-[^ ']*\.whl,$(cd "$root/home/ann/iolens" && ls dist/iolens-*.whl),"
}
built() {
	[ -e "$root/home/ann/iolens/build/runtime/libiolens.so" ] || bootstrapped "./bootstrap build"
	ls "$root"/home/ann/iolens/dist/iolens-*.whl >"$root.log" 2>&1 || bootstrapped "./bootstrap wheel"
}
# of_unit NAME KEY: the value, `\` at the end of lines joined
of_unit() {
	sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' "$root/etc/systemd/system/$1.service" | sed -n "s/^$2=//p"
}
# as_unit NAME COMMAND: as systemd starts it
as_unit() {
	local user bounds ambient code=0
	user=$(of_unit "$1" User)
	bounds=$(of_unit "$1" CapabilityBoundingSet | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
	ambient=$(of_unit "$1" AmbientCapabilities | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
	rights="--bounding-set=-all,$bounds ${ambient:+--inh-caps=-all,$ambient --ambient-caps=-all,$ambient} --no-new-privs" \
		inside "$(chroot "$root" id -u "${user:-root}")" "$(sed -nE 's/^([A-Z_]+)=(.*)/export \1="\2";/p' "$root$(of_unit "$1" EnvironmentFile)") $2" || code=$?
	[ "$code" = 0 ] || [ "$code" = "$(of_unit "$1" SuccessExitStatus)" ]
}
unstarted() {
	sed 's/systemctl enable --now/systemctl enable/' <<<"$1"
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
	while read -r line; do tried 0 "cd /home/ann/iolens && $line"; done < <(shell docs/guide/site-kit.md '^(mkdir|sh) ')
	[ "$(find "$root/logs/iolens" -mindepth 3 -perm 1777 | wc -l)" = 367 ] || fail "not a directory for each of 367 days"
	tried 0 "rm -r /logs"
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

# The service of the page for sites, users that ask its lake, then every page's lines as root, which owns /data/lake.
fleet() {
	echo "== the fleet: ann tries it, root installs the service, alice asks"
	local page=docs/guide/fleet-nightly.md line said site='export IOLENS_LAKE=/var/lib/iolens/lake;'
	built
	path=/home/ann/iolens/.venv/bin:
	while read -r line; do brought "$line"; done < <(shell $page '^(iolens|python3)')
	path=
	apt systemd python3-venv
	while read -r line; do
		case $line in
		*editor*) tried 0 "grep -q ^IOLENS_LAKE=/var/lib/iolens/lake ${line##* }" ;; # what it has is right here
		*daemon-reload) ;; # no systemd runs
		*) tried 0 "cd /home/ann/iolens && $(unstarted "${line#sudo }")" ;;
		esac
	done < <(shell $page '^(sudo|systemd)' | this_wheel)
	[ -L "$root/etc/systemd/system/timers.target.wants/iolens-nightly.timer" ] || fail "the timer is not enabled"
	tried 0 "useradd --create-home --uid 1001 alice && mkdir -m 1777 -p /logs/iolens"
	inside 1001 'cat >sim.c && cc -o sim sim.c' <<-'C' # with something to find
		#include <fcntl.h>
		#include <unistd.h>
		int main(void)
		{
			int file = open("steps", O_CREAT | O_WRONLY, 0644);
			for (int i = 0; i < 2000; i++)
				if (write(file, "a step of the simulation", 24) != 24 || fsync(file) != 0)
					return 1;
		}
	C
	tried 1001 'for i in 1 2 3; do SLURM_JOB_ID=471$i iolens run -q -o /logs/iolens/sim_$i.darshan -- ./sim; done'
	tried 1000 'cd && IOLENS_LOGPATH=/logs/iolens IOLENS_ENABLE_NONMPI=1 LD_PRELOAD=$(find /opt/iolens -name libiolens.so) cat /etc/hosts'
	tried 0 "install -d -o iolens -g iolens -m 750 /var/lib/iolens" # StateDirectory=
	for unit in iolens-ingest iolens-nightly; do
		while read -r line; do
			echo "# $unit: $line"
			as_unit $unit "$line" >"$root.log" 2>&1 && continue
			[[ $line != *sacct* ]] || break # no Slurm: this unit has done the upkeep, and fails
			tail -n 20 "$root.log" >&2
			fail "the unit: $line"
		done < <(of_unit $unit ExecStart)
	done
	tried 0 "$(grep -o 'usermod [^`]*' "$root/home/ann/iolens/$page")"
	named $page 'iolens fleet (sql|verify)' 2
	for line in "${named[@]}"; do tried 1001 "$site $line"; done
	said=$(inside 1001 "$site iolens fleet sql --format csv 'select \"user\", count(*) as jobs from job group by 1 order by 1'")
	[ "${said//$'\r'/}" = $'user,jobs\nalice,3\nann,1' ] || fail "the lake says of alice's and ann's jobs: $said"
	! inside 1000 "$site iolens fleet top users" >"$root.log" 2>&1 || fail "ann can read the lake"

	prepared
	for page in fleet fleet-archive fleet-queries fleet-import fleet-export fleet-notify fleet-backup; do
		echo "-- $page.md"
		while read -r line; do at_site "$line"; done < <(shell docs/guide/$page.md . | this_wheel)
	done
	sed -n '/^from iolens.fleet import Lake$/,/^```/{/^```/d;p}' "$root/home/ann/iolens/docs/guide/fleet.md" >"$root/tmp/lake.py"
	tried 0 "/opt/iolens/bin/python3 /tmp/lake.py"
	said=$(inside 0 "psql -qtA postgresql://iolens@db.example.org/jobs -c 'select count(*), count(distinct lake) from iolens.job'")
	[ "$said" = "61|1" ] || fail "PostgreSQL has not the 61 jobs of the lake: $said"
}
# What the pages speak of: logs, published data, a database, and a site's file whose servers do not answer.
prepared() {
	local rule=/etc/iolens/rules/our_new_rule.toml guide=/home/ann/iolens/docs/guide
	tried 0 "cd /home/ann/iolens && python3 bench/fleetgen/generate.py /tmp/sample --logs=60 --days=3 --users=5"
	tried 0 "mkdir -p /data /backup /var/lib/node_exporter && chown root /darshan/logs && cp -r /tmp/sample/logs /darshan/logs/old"
	tried 0 "cp -p /logs/iolens/sim_1.darshan /darshan/logs/"
	printf 'uid,jobid,start_time,end_time,exe,nprocs,total_POSIX_BYTES_READ\n7,1,1700000000,1700000060,ior,4,100\n' >"$root/data/jobs.csv"
	tried 0 "cd /data && /opt/iolens/bin/python3 -c 'import duckdb; duckdb.sql(\"copy (from \\\"jobs.csv\\\") to \\\"more.parquet\\\"\")'"
	apt rsync postgresql
	echo "127.0.0.1 localhost db.example.org" >>"$root/etc/hosts"
	tried 0 "sed -i 's/scram-sha-256/trust/' /etc/postgresql/*/main/pg_hba.conf && pg_ctlcluster 15 main start"
	daemons+=("$(head -n 1 "$root"/var/lib/postgresql/*/main/postmaster.pid)")
	tried 0 "setpriv --reuid postgres --regid postgres --clear-groups sh -c 'cd / && createuser iolens && createdb -O iolens jobs'"
	tried 0 "mkdir -p /etc/iolens/rules /var/spool/iolens && echo alice >/etc/iolens/opt-in"
	tried 0 "for secret in hook.key mail.password; do (umask 077 && echo secret >/etc/iolens/\$secret); done"
	tried 0 "sed -n '/^title = \"Files in .scratch/,/^\`\`\`/{/^\`/d;p}' $guide/findings.md | sed 's/thresholds.files/thresholds.seconds/; s/\\\$files/\\\$seconds/' >$rule"
	tried 0 "sed -n '/^\`\`\`toml/,/^\`\`\`/{/^\`/d;p}' $guide/fleet-notify.md | tee /etc/iolens/site.toml >/data/site.toml"
}
at_site() {
	local code=0
	echo "# $1"
	inside 0 "cd /data; export IOLENS_LAKE=/data/lake SERVER=postgresql://iolens@db.example.org/jobs; ${1/#pip/cd /home/ann/iolens; /opt/iolens/bin/pip}" >"$root.log" 2>&1 || code=$?
	if [[ $1 = *"--site /etc/iolens"* && $code = 4 ]]; then # its servers do not answer: messages wait
		tried 0 "iolens fleet notify --site /etc/iolens/site.toml --lake /data/lake --status | grep chat && ls /var/spool/iolens | grep ."
		code=0
	fi
	[ $code = 0 ] || { tail -n 20 "$root.log" >&2; fail "exit code $code of $1"; }
}

kernel() {
	echo "== the companion in the kernel, as root"
	local page=docs/guide/kernel.md line log service job path=/home/ann/iolens/.venv/bin:
	apt clang libbpf-dev systemd
	bootstrapped "./bootstrap build"
	inside 1000 'cat >simulation.c && cc -O1 -static -o simulation simulation.c' <<-'C'
		#include <fcntl.h>
		#include <unistd.h>
		int main(void)
		{
			static char data[1 << 20];
			for (int i = 0; i < 5 && (i == 0 || sleep(1) == 0); i++) {
				int file = open("/tmp/result", O_CREAT | O_WRONLY | O_APPEND, 0644);
				if (write(file, data, sizeof data) != sizeof data || close(file) != 0)
					return 1;
			}
		}
	C
	while read -r line; do
		tried 0 "cd /home/ann/iolens && ${line#sudo }"
	done < <(shell $page '^sudo iolens run')
	log=$(find "$root/home/ann/iolens" -maxdepth 1 -name '*simulation*.darshan')
	tried 0 "iolens files ${log#"$root"} | grep -E '5.0 MiB .*/tmp/result' && rm /tmp/result"
	while read -r line; do
		[[ $line == *"systemctl enable"* ]] && tried 0 "grep -q ^IOLENS_LOGPATH=/logs/iolens /etc/iolens/kernel.conf"
		tried 0 "cd /home/ann/iolens && $(unstarted "$line")"
	done < <(shell $page . | sed -n '/^install -m 755/,$p')
	tried 0 "install -d -m 711 /run/iolens-kernel"
	companion
	inside 1000 'cd && SLURM_JOB_ID=77 iolens/simulation' &
	job=$!
	sleep 2
	echo "# kill -9 the service, and start it again"
	kill -9 "$service"
	companion
	wait "$job" || fail "the job of a killed service"
	for ((i = 0; i < 300; i++)); do
		log=$(find "$root/logs/iolens" -name '*_id77*.darshan')
		[ -z "$log" ] || break
		sleep 0.1
	done
	[ -n "$log" ] && [ "$(stat -c '%u %a' "$log")" = "1000 400" ] || fail "no log of the job that is its user's: $(ls -l "$root/logs/iolens")"
	tried 1000 "iolens files ${log#"$root"} | grep /tmp/result"
}
# The service of the page, until it says that it observes. Sets service, its process.
companion() {
	rm -f "$root.kernel" # what the one before said
	as_unit iolens-kernel "exec $(of_unit iolens-kernel ExecStart)" >"$root.kernel" 2>&1 &
	for ((i = 0; i < 300; i++)); do ! grep -qs ready "$root.kernel" || break; sleep 0.1; done
	service=$(pgrep -P $!) || { cat "$root.kernel" >&2; fail "the service ends at once"; }
	daemons+=("$service")
}

for part; do "$part"; done
echo "== every line did what the text says"
