"""Loads the tables that examples/quickstart.sh made, with h5py and with numpy, and checks one row."""
import sys

import h5py
import numpy as np

folder = sys.argv[1]
with h5py.File(f"{folder}/llama.h5") as file:
    tables = {name: (file[name][8191], np.load(f"{folder}/llama.{name}.npy", mmap_mode="r")) for name in ("cos", "sin")}
    for name in tables:
        print(f"{name}: {file[name].dtype}, shape {file[name].shape}, axes {[axis.label for axis in file[name].dims]}")
# Position 8191 of Llama 3.1 8B in real arithmetic, cut to 12 digits: (pair, cos, sin); pair 29 is in the blended band.
for pair, cos, sin in ((0, -0.646390469764, -0.763006789352), (29, 0.450764437144, -0.89264294217), (63, 0.999996840514, 0.00251375463013)):
    for name, want in (("cos", cos), ("sin", sin)):
        h5, npy = tables[name][0][pair], tables[name][1][8191, pair]
        assert h5 == npy and abs(h5 - want) < 6e-8, (name, pair, h5, npy, want)  # half an ulp of float32 below 1 is 3e-8
print("row 8191 is right: cos, sin of pair 0 =", tables["cos"][1][8191, 0], tables["sin"][1][8191, 0])
