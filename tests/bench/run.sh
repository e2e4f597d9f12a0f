#!/usr/bin/env bash
# Builds the benchmarks and prints a table of ratios, each side by side with what it is measured against.
# Usage: tests/bench/run.sh [FILE]      (the table also goes to FILE)
# POSENC_BUILD=folder uses a build that has POSENC_BENCH=ON already.
set -euo pipefail
table=${1:-}
[[ -z $table ]] || table=$(realpath "$table")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/deps.sh
posenc_install_dependencies
build=${POSENC_BUILD:-build/release}
{
  if [[ -z ${POSENC_BUILD:-} ]]; then cmake --preset release -DPOSENC_BENCH=ON; fi
  cmake --build "$build" --target posenc_cli posenc_bench --parallel "$(nproc)"
} >&2
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/bench/measure.py "$build" | if [[ -n $table ]]; then tee "$table"; else cat; fi
