#!/usr/bin/env bash
# From a checkout to tables that numpy and h5py load: the RoPE tables of Llama 3.1 8B for its 131,072 positions.
# Usage: examples/quickstart.sh [FOLDER]     (default: posenc-quickstart in a new temporary directory)
# POSENC=path uses a posenc that is already built.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:-$(mktemp -d)/posenc-quickstart}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# 1. The binary.
if [[ -z ${POSENC:-} ]]; then
  source "$root/tests/deps.sh"
  posenc_install_dependencies
  log=$(mktemp)
  echo "building posenc (a few minutes the first time)"
  (cd "$root" && cmake --preset release && cmake --build --preset release --target posenc_cli --parallel "$(nproc)") > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
  rm -f "$log"
  POSENC=$root/build/release/cli/posenc
fi

# 2. The tables, in HDF5 and in NPY; every parameter comes from the model's config.
config=$root/examples/configs/Llama-3.1-8B/config.json
"$POSENC" generate --config "$config" -o "$out/llama.h5"
"$POSENC" generate --config "$config" -o "$out/llama.npy" --quiet

# 3. Are they right? Every value against the formula, and the laws of the encoding.
for file in "$out/llama.h5" "$out/llama.cos.npy" "$out/llama.sin.npy"; do
  "$POSENC" verify "$file"
done

# 4. In Python.
/usr/bin/python3 "$root/examples/load_tables.py" "$out"
echo "the tables are in $out"
