# For /etc/profile.d, behind the module system's own file: loads the module once. A shell that has unloaded it, and shells
# below that one, stay without.
if [ -z "${__iolens_loaded:-}" ] && command -v module >/dev/null; then
	export __iolens_loaded=1
	module load iolens
fi
