"""The real binary writes every format, dtype and layout; numpy and h5py load them. Values are compared with ones computed
here, and, bit for bit, from format to format. Usage: load_everywhere.py POSENC"""
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

POSENC = str(Path(sys.argv[1]).resolve())
FIRST, LAST, HEAD_DIM = 5, 45, 8
PAIRS = HEAD_DIM // 2
folder = Path(tempfile.mkdtemp(prefix="posenc-interop-"))
checks = 0


def posenc(*words, stdout=subprocess.DEVNULL):
    done = subprocess.run([POSENC, *words], cwd=folder, stdout=stdout, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, (words, done.stderr.decode())
    return done.stdout


def generate(output, *words, stdout=subprocess.DEVNULL):
    common = ("--head-dim", str(HEAD_DIM), "--positions", f"{FIRST}:{LAST}", "-o", output)
    return posenc("generate", "rope", *common, *words, stdout=stdout)


def load_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert (8 + size) % 8 == 0, "the data of a safetensors file starts aligned"
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(v, str) for v in metadata.values())
    kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
    arrays, covered = {}, 0
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        covered += end - begin
        raw = np.frombuffer(data[8 + size + begin : 8 + size + end], kinds[entry["dtype"]]).reshape(entry["shape"])
        arrays[name] = widen(raw) if entry["dtype"] == "BF16" else raw
    assert covered == len(data) - 8 - size, "no holes"
    return arrays


def widen(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def ulp(dtype, values):
    if dtype == "bf16":
        return np.spacing(np.abs(values).astype(np.float32)).astype(np.float64) * 2.0**16
    return np.spacing(np.abs(values).astype({"f64": np.float64, "f32": np.float32, "f16": np.float16}[dtype])).astype(np.float64)


def close(dtype, got, want, what):
    """Right rounding is within half an ulp. The wanted value is itself off: the angle by 2^-53 of itself, cos by an ulp."""
    global checks
    own = np.float64(LAST) * 2.0**-52 + 2.0**-53
    off = np.abs(got.astype(np.float64) - want)
    assert np.all(off <= 0.5 * ulp(dtype, want) + own), (what, off.max())
    checks += 1


def same(a, b, what):
    global checks
    assert a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes(), (what, a.dtype, b.dtype, a.shape, b.shape)
    checks += 1


# base 10000 and head_dim 8: inv_freq = 1, 0.1, 0.01, 0.001.
angle = np.arange(FIRST, LAST, dtype=np.float64)[:, None] / np.array([1.0, 10.0, 100.0, 1000.0])
want = {"cos": np.cos(angle), "sin": np.sin(angle)}

for dtype in ("f64", "f32", "f16", "bf16"):
    numpy_type = {"f64": "<f8", "f32": "<f4", "f16": "<f2"}.get(dtype)
    seen = {}  # one table per way to store it: {tensor: array}
    if numpy_type:
        generate("x.npy", "--dtype", dtype)
        seen["npy"] = {n: np.load(folder / f"x.{n}.npy") for n in want}
        seen["npy, mapped"] = {n: np.array(np.load(folder / f"x.{n}.npy", mmap_mode="r")) for n in want}
        seen["npy on stdout"] = {
            n: np.load(io.BytesIO(generate("-", "--dtype", dtype, "--tensor", n, stdout=subprocess.PIPE))) for n in want
        }
        generate("x.npz", "--dtype", dtype)
        with np.load(folder / "x.npz", mmap_mode="r") as npz:
            seen["npz"] = {n: npz[n] for n in want}
            assert set(want) <= set(npz.files)
        generate("stack.npy", "--dtype", dtype, "--stack")
        stack = np.load(folder / "stack.npy")
        seen["stack"] = {"cos": stack[0], "sin": stack[1]}
    generate("x.safetensors", "--dtype", dtype)
    seen["safetensors"] = load_safetensors(folder / "x.safetensors")
    for way, words in {
        "hdf5": (),
        "hdf5 chunked": ("--chunk", "300"),
        "hdf5 gzip": ("--compress", "gzip"),
        "hdf5 chunked gzip": ("--chunk", "500", "--compress", "gzip:9"),
    }.items():
        generate("x.h5", "--dtype", dtype, *words)
        with h5py.File(folder / "x.h5") as file:
            assert set(file) >= set(want)
            seen[way] = {}
            for name in want:
                data = file[name]
                assert [d.label for d in data.dims] == ["position", "pair"], [d.label for d in data.dims]
                assert (data.chunks is not None) == bool(words)
                assert (data.compression == "gzip") == ("--compress" in words)
                seen[way][name] = data[...] if numpy_type else data[...].astype(np.float32)
    reference = seen["npy" if numpy_type else "safetensors"]
    for way, table in seen.items():
        for name in want:
            if numpy_type:
                assert table[name].dtype == np.dtype(numpy_type), (way, table[name].dtype)
            close(dtype, table[name], want[name], (dtype, way, name))
            same(table[name], reference[name], (dtype, way, name))

# Every layout, from the list that the binary prints: the same bits in each format.
layouts = [row["name"].split()[1] for row in json.loads(posenc("list", "layouts", "--json", stdout=subprocess.PIPE))["layouts"] if row["name"].startswith("rope ")]
assert len(layouts) >= 9
for layout in layouts:
    words = ("--layout", layout, "--complex", "split")
    generate("x.npz", *words)
    generate("x.safetensors", *words)
    generate("x.h5", *words)
    loaded = load_safetensors(folder / "x.safetensors")
    with np.load(folder / "x.npz") as npz, h5py.File(folder / "x.h5") as file:
        for name, array in loaded.items():
            same(npz[name], array, (layout, name))
            same(file[name][...], array, (layout, name))
            if array.ndim == 2:
                assert array.shape[0] == LAST - FIRST

# How the layouts lie to each other.
generate("half.npz", "--layout", "half")
generate("interleaved.npz", "--layout", "interleaved")
generate("cache.npz", "--layout", "cache")
generate("x.npz")
with np.load(folder / "x.npz") as x, np.load(folder / "half.npz") as half, np.load(folder / "interleaved.npz") as inter, np.load(folder / "cache.npz") as cache:
    same(half["cos"], np.concatenate([x["cos"], x["cos"]], axis=1), "half")
    same(inter["sin"], np.repeat(x["sin"], 2, axis=1), "interleaved")
    same(cache["cos_sin"], np.concatenate([x["cos"], x["sin"]], axis=1), "cache")

# Complex numbers: native, as pairs, split.
for dtype, numpy_type in (("f32", "<c8"), ("f64", "<c16")):
    words = ("--layout", "complex", "--dtype", dtype)
    real = {"f32": np.float32, "f64": np.float64}[dtype]
    generate("c.npy", *words)
    native = np.load(folder / "c.npy")
    assert native.dtype == np.dtype(numpy_type) and native.shape == (LAST - FIRST, PAIRS)
    close(dtype, native.real, want["cos"], "complex npy")
    close(dtype, native.imag, want["sin"], "complex npy")
    generate("c.npz", *words)
    with np.load(folder / "c.npz") as npz:
        same(npz["freqs_cis"], native, "complex npz")
    same(np.load(io.BytesIO(generate("-", *words, stdout=subprocess.PIPE))), native, "complex npy on stdout")
    generate("p.npy", *words, "--complex", "pair")
    same(np.load(folder / "p.npy").view(numpy_type)[..., 0], native, "pairs")
    pairs = native.view(real).reshape(LAST - FIRST, PAIRS, 2)
    generate("c.safetensors", *words)
    same(load_safetensors(folder / "c.safetensors")["freqs_cis"], pairs, "complex safetensors")
    generate("c.h5", *words)
    with h5py.File(folder / "c.h5") as file:
        same(file["freqs_cis.real"][...], native.real.copy(), "split hdf5")
        same(file["freqs_cis.imag"][...], native.imag.copy(), "split hdf5")
    generate("p.h5", *words, "--complex", "pair")
    with h5py.File(folder / "p.h5") as file:
        same(file["freqs_cis"][...], pairs, "pair hdf5")
        assert [d.label for d in file["freqs_cis"].dims] == ["position", "pair", "complex"]

# Files that others wrote are read: what numpy and h5py make of our values verifies against the formula.

# x.cos.npy holds float16 by now: each file is judged in its own precision.
np.savez(folder / "theirs.npz", cos=np.load(folder / "x.cos.npy"), sin=np.load(folder / "x.sin.npy"))
np.savez_compressed(folder / "packed.npz", cos=np.load(folder / "x.cos.npy"), sin=np.load(folder / "x.sin.npy"))
with h5py.File(folder / "theirs.h5", "w") as file:
    for name in want:
        file.create_dataset(name, data=np.load(folder / f"x.{name}.npy"), chunks=(7, 3), compression="gzip", shuffle=True)
spec = ("rope", "--head-dim", str(HEAD_DIM), "--positions", f"{FIRST}:{LAST}")
for name in ("theirs.npz", "packed.npz", "theirs.h5"):
    posenc("verify", name, *spec)
    checks += 1



def told(path):
    """All that h5py sees in a file: datasets with sizes, limits and values, scales with their axes, attributes."""
    seen = {}

    def plain(value, file):
        if isinstance(value, np.ndarray) and value.dtype.names:  # REFERENCE_LIST
            return sorted((file[entry[0]].name, int(entry[1])) for entry in value)
        if isinstance(value, np.ndarray) and value.dtype == object:  # DIMENSION_LIST, DIMENSION_LABELS
            return [x if isinstance(x, (bytes, str)) else [file[r].name for r in x] for x in value]
        return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value

    with h5py.File(path) as file:
        objects = [file]
        file.visititems(lambda name, item: objects.append(item))
        for item in objects:
            seen[item.name] = {key: plain(value, file) for key, value in item.attrs.items()}
            if isinstance(item, h5py.Dataset):
                seen[item.name]["data"] = (item.shape, item.maxshape, item.dtype, item.compression, item[...].tobytes())
    return seen


# A file that grew in place is to h5py the one that was made at once.
for words in (("--chunk", "300"), ("--chunk", "1M"), ("--chunk", "500", "--compress", "gzip:9")):
    posenc("generate", *spec, *words, "-o", "grown.h5")
    before = (folder / "grown.h5").stat().st_ino
    for last in (LAST + 1, LAST + 100):
        posenc("extend", "grown.h5", "--positions", f"{FIRST}:{last}")
    assert (folder / "grown.h5").stat().st_ino == before
    posenc("generate", *spec[:-1], f"{FIRST}:{LAST + 100}", *words, "-o", "whole.h5")
    grown, whole = told(folder / "grown.h5"), told(folder / "whole.h5")
    assert grown == whole, (words, [name for name in whole if grown.get(name) != whole[name]])
    assert grown["/cos"]["data"][:2] == ((LAST + 100 - FIRST, PAIRS), (None, PAIRS))
    assert grown["/position"]["NAME"].endswith(b"       140")
    checks += 3

for path in folder.iterdir():
    path.unlink()
folder.rmdir()
print(f"{checks} comparisons hold")
