#!/bin/sh
# Checks with what other projects publish, which each of them installs: `make outside-checks` runs them after a build.
#   tests/install/outside.sh intel-mpi|grafana-types|conda-recipe
set -eu
cd "$(dirname "$0")/../.."

case $1 in
intel-mpi) # below .venv/mpi, where tests/mpis.py finds it
	.venv/bin/python -m pip install -q --no-deps --prefix .venv/mpi/intel impi-rt==2021.19.0
	.venv/bin/python -m pytest -q tests/mpi tests/mpiio -k intel
	;;
grafana-types) # is deploy/grafana of Grafana's own types?
	mkdir -p build/grafana
	cd build/grafana
	npm install --silent --no-audit --no-fund --prefix . @grafana/schema@13.2.3 typescript@5
	python3 ../../tools/grafanatypes.py ../../deploy/grafana/fleet.json fleet.ts
	npx tsc --noEmit --strict --skipLibCheck --target es2020 --module es2022 --moduleResolution bundler fleet.ts
	;;
conda-recipe) # does conda's builder take deploy/conda?
	.venv/bin/python -m pip install -q --no-deps --upgrade --target build/rattler py-rattler-build==0.73.0
	PYTHONPATH=build/rattler .venv/bin/python -m pytest -q tests/deploy/test_recipes.py
	;;
*)
	echo "outside.sh: $1: intel-mpi, grafana-types or conda-recipe" >&2
	exit 2
	;;
esac
