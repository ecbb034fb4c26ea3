"""The 12 nearest of random points by SciPy's cKDTree, on two threads: python3 nearest_rivals.py [POINTS]

The points and cells are those of `cpu_bench nearest`, whose call also weighs the values of the neighbours; here they are but
found. A row is cpu_bench's: whose, the work, cells, points, and the median, least and greatest of 3 runs in ms.
"""

import sys
import time

import numpy as np
from scipy.spatial import cKDTree

POINTS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
THREADS = 2


def unit(column):
    """Random numbers below 1: the finaliser of splitmix64, as in `benches::unit`."""
    with np.errstate(over="ignore"):
        z = np.arange(POINTS, dtype=np.uint64) + np.uint64(column << 40) + np.uint64(1)
        z *= np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) / 2.0**53


side = int((POINTS * 2.5) ** 0.5)
places = np.stack([unit(1) * side, unit(2) * side], axis=1)
centres = np.arange(side) + 0.5
cells = np.stack(np.meshgrid(centres, centres[::-1]), axis=-1).reshape(-1, 2)
times = []
for _ in range(3):
    start = time.perf_counter()
    tree = cKDTree(places)
    tree.query(cells, k=12, workers=THREADS)
    times.append((time.perf_counter() - start) * 1e3)
times.sort()
print(f"scipy\tidw_12_nearest\t{side * side}\t{POINTS}\t{times[1]:.3f}\t{times[0]:.3f}\t{times[2]:.3f}")
