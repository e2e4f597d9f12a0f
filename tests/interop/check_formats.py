#!/usr/bin/env python3
"""Loads files that posenc wrote with NumPy, h5py and a reader of safetensors made from its specification, and compares
every value with the raw bytes that were given to the writer.

    check_formats.py FOLDER

FOLDER/expected.json: {"files": [{"file", "format", "metadata": {KEY: TEXT}, "tensors": [{"name", "dtype", "shape", "complex",
"axes", "raw"}]}]}; "raw" is a file of little-endian row-major values. Prints one line per file; exits with 1 on a difference.
"""
import json
import os
import sys

import h5py
import numpy as np

NUMPY = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "i32": "<i4", "i64": "<i8", "bf16": "<u2"}
SAFETENSORS = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I32": "i32", "I64": "i64"}


def expected(folder, tensor):
    raw = open(os.path.join(folder, tensor["raw"]), "rb").read()
    kind = {"f32": "<c8", "f64": "<c16"}[tensor["dtype"]] if tensor["complex"] else NUMPY[tensor["dtype"]]
    return np.frombuffer(raw, kind).reshape(tensor["shape"])


def same(got, want, what):
    assert got.shape == want.shape, f"{what}: shape {got.shape}, wants {want.shape}"
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, wants {want.dtype}"
    assert np.ascontiguousarray(got).tobytes() == want.tobytes(), f"{what}: values differ"


def parsed(key, value):
    """A member of posenc.json or of a sidecar: the spec may lie there as JSON."""
    if key == "posenc_spec" and not isinstance(value, str):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return value


def check_npy(path, entry, folder):
    want = expected(folder, entry["tensors"][0])
    same(np.load(path), want, path)
    # Byte for byte what numpy writes.
    np.save(path + ".numpy.npy", want)
    assert open(path, "rb").read() == open(path + ".numpy.npy", "rb").read(), f"{path}: not the bytes numpy writes"
    os.remove(path + ".numpy.npy")
    if entry["metadata"]:
        side = json.load(open(path + ".json", encoding="utf-8"))
        assert side.pop("posenc_sidecar") is True
        assert {k: parsed(k, v) for k, v in side.items()} == entry["metadata"], f"{path}: sidecar differs"


def check_npz(path, entry, folder):
    with np.load(path) as archive:
        names = [n for n in archive.files if n != "posenc.json"]
        assert sorted(names) == sorted(t["name"] for t in entry["tensors"]), f"{path}: {names}"
        for tensor in entry["tensors"]:
            same(archive[tensor["name"]], expected(folder, tensor), f"{path} {tensor['name']}")
        if entry["metadata"]:
            meta = json.loads(archive["posenc.json"])
            assert {k: parsed(k, v) for k, v in meta.items()} == entry["metadata"], f"{path}: metadata differs"
        assert archive.zip.testzip() is None
        for info in archive.zip.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0), f"{path}: a member is dated"
            if info.filename.endswith(".npy"):
                with open(path, "rb") as file:
                    file.seek(info.header_offset + 26)
                    name, extra = np.frombuffer(file.read(4), "<u2")
                    start = info.header_offset + 30 + int(name) + int(extra)
                assert start % 64 == 0, f"{path}: {info.filename} is not aligned"


def check_safetensors(path, entry, folder):
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    assert size % 8 == 0, f"{path}: the header is not a multiple of 8"
    pairs = json.loads(data[8 : 8 + size], object_pairs_hook=list)
    header = {}
    for name, value in pairs:
        assert name not in header, f"{path}: {name} stands twice"
        header[name] = dict(value)
    meta = header.pop("__metadata__", {})
    assert meta == entry["metadata"], f"{path}: metadata differs"
    body, end = data[8 + size :], 0
    for name, info in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, stop = info["data_offsets"]
        assert begin == end, f"{path}: a gap before {name}"
        end = stop
    assert end == len(body), f"{path}: the data section is {len(body)} bytes, its tensors take {end}"
    assert sorted(header) == sorted(t["name"] for t in entry["tensors"])
    for tensor in entry["tensors"]:
        info = header[tensor["name"]]
        assert SAFETENSORS[info["dtype"]] == tensor["dtype"]
        begin, stop = info["data_offsets"]
        item = np.dtype(NUMPY[tensor["dtype"]]).itemsize
        assert begin % item == 0, f"{path}: {tensor['name']} is not aligned"
        same(np.frombuffer(body[begin:stop], NUMPY[tensor["dtype"]]).reshape(info["shape"]), expected(folder, tensor), f"{path} {tensor['name']}")


def as_text(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def check_hdf5(path, entry, folder):
    with h5py.File(path, "r") as file:
        assert {k: as_text(v) for k, v in file.attrs.items()} == entry["metadata"], f"{path}: attributes differ"
        for tensor in entry["tensors"]:
            dataset = file[tensor["name"]]
            what = f"{path} {tensor['name']}"
            want = expected(folder, tensor)
            if tensor["dtype"] == "bf16":
                # h5py reads the 16-bit float with bias 127 as float32; widening is exact, but a NaN may lose its payload.
                got = dataset[()]
                assert got.dtype == np.float32, f"{what}: {got.dtype}"
                wide = np.asarray(want.astype(np.uint32) << np.uint32(16), np.uint32).view(np.float32)
                assert got.shape == wide.shape and np.array_equal(got, wide, equal_nan=True), f"{what}: values differ"
                kind = dataset.id.get_type()
                assert kind.get_size() == 2 and kind.get_ebias() == 127 and kind.get_fields() == (15, 7, 8, 0, 7), f"{what}: type"
            else:
                same(dataset[()], want, what)
            for axis, name in enumerate(tensor["axes"]):
                assert dataset.dims[axis].label == name, f"{what}: label {dataset.dims[axis].label}"
                assert dataset.dims[axis][0].shape == (tensor["shape"][axis],), f"{what}: scale"
            assert as_text(dataset.attrs["description"])
    check_xarray(path, entry)


def check_xarray(path, entry):
    """Named axes as xarray sees them, where it is installed."""
    try:
        import h5netcdf  # noqa: F401
        import xarray
    except ImportError:
        return
    plain = [t for t in entry["tensors"] if "/" not in t["name"] and t["dtype"] not in ("bf16",) and not t["complex"]]
    if len(plain) != len(entry["tensors"]) or not all(len(set(t["axes"])) == len(t["shape"]) for t in plain):
        return
    with xarray.open_dataset(path, engine="h5netcdf", decode_cf=False, phony_dims="sort") as dataset:
        for tensor in plain:
            sizes = dict(zip(dataset[tensor["name"]].dims, dataset[tensor["name"]].shape))
            assert list(sizes.values()) == tensor["shape"], f"{path}: xarray sees {sizes}"
            for axis, dim in zip(tensor["axes"], dataset[tensor["name"]].dims):
                assert dim == axis or dim.startswith(axis + "_"), f"{path}: xarray calls axis {axis} {dim}"


def main():
    folder = sys.argv[1]
    entries = json.load(open(os.path.join(folder, "expected.json"), encoding="utf-8"))["files"]
    check = {"npy": check_npy, "npz": check_npz, "safetensors": check_safetensors, "hdf5": check_hdf5}
    failed = 0
    for entry in entries:
        try:
            check[entry["format"]](os.path.join(folder, entry["file"]), entry, folder)
            print("ok", entry["file"])
        except Exception as error:  # one line each, and go on
            failed += 1
            print("FAILED", entry["file"], f"{type(error).__name__}: {error}")
    print(f"{len(entries) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
