"""Ratios of times, measured side by side: in each round every contestant runs once, in turn, and medians are divided.
Usage: measure.py BUILD_FOLDER"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BUILD = Path(sys.argv[1]).resolve()
POSENC = str(BUILD / "cli" / "posenc")
ROUNDS = 7
ROWS, HEAD_DIM = 1 << 20, 128
BYTES = ROWS * HEAD_DIM * 4  # cos and sin, half width, float32
memory = Path("/dev/shm")
on_tmpfs = memory.is_dir() and os.access(memory, os.W_OK)
folder = Path(tempfile.mkdtemp(prefix="posenc-bench-", dir=memory if on_tmpfs else None))


def seconds(work):
    for path in folder.iterdir():
        path.unlink()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def posenc(*words):
    return lambda: subprocess.run([POSENC, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def numpy_tables():
    """What people write, without the start of an interpreter."""
    inv_freq = (1.0 / 10000.0 ** (np.arange(0, HEAD_DIM, 2, dtype=np.float32) / HEAD_DIM)).astype(np.float32)
    angles = np.outer(np.arange(ROWS, dtype=np.float32), inv_freq)
    np.save(folder / "cos.npy", np.cos(angles))
    np.save(folder / "sin.npy", np.sin(angles))


def dd():
    command = ["dd", "if=/dev/zero", "of=zeros", "bs=1M", f"count={BYTES >> 20}"]
    subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)


table = ("generate", "rope", "--positions", str(ROWS), "--head-dim", str(HEAD_DIM), "--quiet")
contestants = {
    "numpy": numpy_tables,
    "dd": dd,
    "npy": posenc(*table, "-o", "rope.npy"),
    "npy, 1 thread": posenc(*table, "-o", "rope.npy", "--threads", "1"),
    "npy, one file": posenc(*table, "--stack", "-o", "rope.npy"),
    "hdf5": posenc(*table, "-o", "rope.h5"),
    "bf16": posenc(*table, "--dtype", "bf16", "-o", "rope.safetensors"),
    "bias": posenc("generate", "alibi", "--form", "matrix", "--num-heads", str(BYTES >> 26), "--key-length", "4096", "--quiet", "-o", "bias.npy"),
}
small = {
    "version": posenc("--version"),
    "1000 rows": posenc("generate", "rope", "--positions", "1000", "-o", "small.npz", "--quiet"),
}
times = {name: [] for name in {**contestants, **small}}
for number in range(ROUNDS + 1):  # the first round warms up
    for name, work in contestants.items():
        taken = seconds(work)
        if number:
            times[name].append(taken)
for _ in range(41):
    for name, work in small.items():
        times[name].append(seconds(work))
median = {name: statistics.median(values) for name, values in times.items()}

# Kernels: repetitions of all benchmarks, interleaved at random.
command = [str(BUILD / "tests" / "bench" / "posenc_bench"), "--benchmark_format=json", "--benchmark_repetitions=5",
           "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.1"]
report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
rates = {}
for run in report["benchmarks"]:
    if run["run_type"] == "aggregate" and run["aggregate_name"] == "median":
        rates[run["run_name"]] = run["bytes_per_second"] / 1e9

# Peak memory while 4 GiB leave the process.
def peak(*words):
    for path in folder.iterdir():
        path.unlink()
    if shutil.disk_usage(folder).free <= 5 << 30:
        return None
    command = ["/usr/bin/time", "-f", "%M", POSENC, "generate", *words, "-o", "big.npy", "--quiet"]
    done = subprocess.run(command, cwd=folder, check=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    return int(done.stderr.split()[-1]) / 1024


peaks = {
    "table": peak("rope", "--positions", "16M", "--tensor", "cos"),
    "bias matrix": peak("alibi", "--form", "matrix", "--num-heads", "16", "--key-length", "8192"),
}
shutil.rmtree(folder)


def row(what, value, target, holds):
    print(f"| {what:<66} | {value:>10} | {target:>8} | {'yes' if holds else 'NO':<3} |")


cores = len(os.sched_getaffinity(0))
where = "tmpfs" if on_tmpfs else "the disk of the temporary folder"
print(f"rope, {ROWS} positions, head_dim {HEAD_DIM}, {BYTES >> 20} MiB of float32 to {where}; {cores} cores, medians of {ROUNDS}\n")
print(f"| {'what':<66} | {'measured':>10} | {'target':>8} | ok  |")
print(f"|{'-' * 68}|{'-' * 12}|{'-' * 10}|-----|")
row("(a) numpy float32 outer, cos, sin, save: times as long as posenc", f"{median['numpy'] / median['npy']:.2f} x", ">= 5", median["numpy"] / median["npy"] >= 5)
row("(b) posenc NPY: times as long as dd of as many zeros", f"{median['npy'] / median['dd']:.2f} x", "<= 1.2", median["npy"] / median["dd"] <= 1.2)
best = max((name.split("/")[1] for name in rates if name.startswith("stream/")), key=lambda isa: rates[f"kernel/{isa}/f32"])
share = rates[f"kernel/{best}/f32"] / rates[f"stream/{best}"]
row(f"(c) f32 kernel: share of a streaming fill's rate, {best}, one core", f"{share:.2f}", ">= 0.4", share >= 0.4)
# Two NPY files are two inodes, which two threads write at once; HDF5 is one, on which their writes queue, as dd's do.
row("HDF5, contiguous: times as long as NPY as one file", f"{median['hdf5'] / median['npy, one file']:.2f} x", "<= 1.2", median["hdf5"] / median["npy, one file"] <= 1.2)
row("HDF5, contiguous: times as long as NPY", f"{median['hdf5'] / median['npy']:.2f} x", "<= 1.2", median["hdf5"] / median["npy"] <= 1.2)
row("a bias matrix (ALiBi): times as long as dd", f"{median['bias'] / median['dd']:.2f} x", "<= 1.2", median["bias"] / median["dd"] <= 1.2)
for what, most in peaks.items():
    if most is None:
        print(f"peak memory of a {what} of 4 GiB: not measured, less than 5 GiB free")
    else:
        row(f"peak memory of a {what} of 4 GiB", f"{most:.0f} MiB", "< 64", most < 64)
row("posenc --version", f"{median['version'] * 1e3:.1f} ms", "< 10", median["version"] < 0.01)
row("a table of 1,000 rows", f"{median['1000 rows'] * 1e3:.1f} ms", "< 10", median["1000 rows"] < 0.01)

print("\nwhole process, to the file: " + ", ".join(f"{name} {BYTES / median[name] / 1e9:.2f} GB/s" for name in ("numpy", "dd", "npy", "npy, 1 thread", "npy, one file", "hdf5", "bias")) +
      f", bf16 safetensors {BYTES / 2 / median['bf16'] / 1e9:.2f} GB/s")
print("one core (GB/s stored; f32 into a cached block, as the pipeline has it; the others to memory):")
for name in rates:
    if name.startswith("stream/"):
        isa = name.split("/")[1]
        print(f"  {isa:<8} streaming fill {rates[name]:6.2f}   kernel " + "  ".join(f"{d} {rates[f'kernel/{isa}/{d}']:.2f}" for d in ("f32", "bf16", "f16", "f64")))
