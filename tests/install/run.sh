#!/usr/bin/env bash
# Installs a build, moves the installation, and lets a foreign project find, link and use it.
# Usage: run.sh BUILD_FOLDER SOURCE_FOLDER [SANITIZERS]
set -euo pipefail
build=$1 source=$2 sanitizers=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/staged" > "$work/log" || { cat "$work/log" >&2; exit 1; }
mv "$work/staged" "$work/moved"
"$work/moved/bin/posenc" --version

# Nothing in the package may point to where it was built, staged, or to where this machine keeps its libraries.
package=$(dirname "$(find "$work/moved" -name posencConfig.cmake)")
if grep -rnE "$build|$source|$work|\"/usr/|;/usr/" "$package"; then
  echo "the installed package holds paths of this machine" >&2
  exit 1
fi

flags=${sanitizers:+-fsanitize=$sanitizers}
cmake -S "$(dirname "${BASH_SOURCE[0]}")" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_CXX_FLAGS="$flags" > "$work/log" 2>&1 &&
  cmake --build "$work/consumer" >> "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
for suffix in npz h5 safetensors; do
  "$work/consumer/consumer" "$work/table.$suffix"
  "$work/moved/bin/posenc" verify "$work/table.$suffix" --quiet
done
echo "a foreign project builds against the installation and its tables verify"
