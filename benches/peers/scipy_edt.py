"""scipy.ndimage.distance_transform_edt on the masks of cpu_bench: python3 scipy_edt.py [SIDE]

Wall and processor time of one call with indices and distances, the best of 3.
"""

import sys
import time

import numpy as np
from scipy import ndimage

side = int(sys.argv[1]) if len(sys.argv) > 1 else 4096


def mask(density):
    with np.errstate(over="ignore"):
        z = np.arange(side * side, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return ((z >> np.uint64(32)) < int(density * 2**32)).reshape(side, side)


for density in [0.0001, 0.01, 0.25]:
    away = ~mask(density)
    times = []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        ndimage.distance_transform_edt(away, return_indices=True)
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    wall, cpu = min(times)
    print(f"{density * 100}%: {wall * 1e3:.0f} ms, processor {cpu * 1e3:.0f} ms")
