#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: an optimised build, then one with AddressSanitizer and
# UndefinedBehaviorSanitizer. Exit status 0 when every test passed.
set -euo pipefail

usage() {
  cat << 'END'
Usage: tests/run.sh [--deps-only] [--quick]
  --deps-only   install what is missing and stop
  --quick       the optimised build only
END
}

quick=false deps_only=false
for word in "$@"; do
  case $word in
    --quick) quick=true ;;
    --deps-only) deps_only=true ;;
    --help | -h) usage; exit 0 ;;
    *) echo "tests/run.sh: unknown option '$word'" >&2; usage >&2; exit 2 ;;
  esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/deps.sh
posenc_install_dependencies
if $deps_only; then exit 0; fi

export PYTHONDONTWRITEBYTECODE=1
presets=(release)
$quick || presets+=(dev)
jobs=$(nproc)
failed=() summary=()

for preset in "${presets[@]}"; do
  started=$SECONDS
  echo "== $preset: build"
  cmake --preset "$preset"
  cmake --build --preset "$preset" --parallel "$jobs"
  built=$((SECONDS - started))
  echo "== $preset: tests"
  log=build/$preset/tests.log
  status=0
  ctest --preset "$preset" --parallel "$jobs" 2>&1 | tee "$log" || status=$?
  ((status == 0)) || failed+=("$preset")
  summary+=("$preset: $(grep -E '[0-9]+% tests passed' "$log" || echo 'no summary from ctest'); build $built s, tests $((SECONDS - started - built)) s")
  while IFS= read -r line; do summary+=("  $line"); done < <(sed -n '/The following tests FAILED/,/^$/p' "$log")
done

echo
printf '%s\n' "${summary[@]}"
((${#failed[@]} == 0))
