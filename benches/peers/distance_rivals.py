"""Euclidean distance transforms beside pba-voronoi's on the CPU: python3 distance_rivals.py [SIDE] [MASK.npz] [NAME]

SciPy (one thread, with the indices of the nearest and without, up to a side of 4096), edt (PyPI) and OpenCV's precise
transform, each on two threads where it has them, on the masks of `cpu_bench`: random ones and, of a raster of land given as a NumPy
archive, the window of SIDE x SIDE at its north-west; with NAME (0.01%, 1%, 25%, land) that mask alone.
The distances are compared with those of the first. Rows are cpu_bench's: whose, the work, pixels, sites, and the median, least
and greatest of 3 runs after one in ms. What is not installed is named and passed over.
"""

import importlib
import statistics
import sys
import time

import numpy as np

from masks import random_mask

SIDE = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
THREADS = 2


def masks():
    for density, name in [(0.0001, "0.01%"), (0.01, "1%"), (0.25, "25%")]:
        yield name, random_mask(SIDE, density)
    if len(sys.argv) > 2:
        archive = np.load(sys.argv[2])
        yield "land", np.ascontiguousarray(archive[archive.files[0]][:SIDE, :SIDE] != 0)


def rivals(away):
    """Names and calls; of `away` the sites are zero."""
    from scipy import ndimage

    if SIDE <= 4096:
        yield "scipy", "distances", lambda: ndimage.distance_transform_edt(away)
        yield "scipy", "indices_and_distances", lambda: ndimage.distance_transform_edt(away, return_indices=True)[0]
    for name in ["edt", "cv2"]:
        try:
            module = importlib.import_module(name)
        except ImportError:
            print(f"# {name} is not installed")
            continue
        if name == "edt":
            yield name, "distances", lambda: module.edt(away, parallel=THREADS)
        else:
            module.setNumThreads(THREADS)
            bytes_ = away.view(np.uint8)
            precise = module.DIST_MASK_PRECISE
            yield name, "distances", lambda: module.distanceTransform(bytes_, module.DIST_L2, precise)


for mask, sites in masks():
    if len(sys.argv) > 3 and mask != sys.argv[3]:
        continue
    away, right = ~sites, None
    count = int(sites.sum())
    for library, outputs, call in rivals(away):
        times = []
        for _ in range(4):
            start = time.perf_counter()
            distances = call()
            times.append((time.perf_counter() - start) * 1e3)
        if right is None:
            right = distances
        worst = float(np.abs(distances - right).max())
        if worst > 1e-3:
            print(f"# {library}, {mask}: off by up to {worst:.3g} pixels")
        times = sorted(times[1:])
        median = statistics.median(times)
        print(f"{library}\tdistance_{mask}_{outputs}\t{SIDE * SIDE}\t{count}\t{median:.3f}\t{times[0]:.3f}\t{times[-1]:.3f}", flush=True)
