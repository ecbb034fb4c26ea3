"""Times Triangle and SciPy (Qhull) on the clouds of `delaunay_bench write FOLDER`: python3 triangulations.py FOLDER NAME..

Triangle is the package `triangle` of PyPI, a wrapper of Shewchuk's program in C. Rows are delaunay_bench's. SciPy's
triangulation is exact neither where it is nearly degenerate nor where points lie on a circle; its edges are not compared.
"""

import sys
import time
from pathlib import Path

import numpy as np


def row(program, name, points, edges, ms):
    print(f"{program}\tdelaunay_{name}\t{len(points)}\t{edges}\t{ms:.5f}\t{ms:.5f}\t{ms:.5f}", flush=True)


def by_triangle(points):
    import triangle

    # No numbers from 1, no messages, no boundary markers; edges are counted.
    found = triangle.triangulate({"vertices": points}, "zQeB")
    return len(found["edges"])


def by_scipy(points):
    from scipy.spatial import Delaunay

    return len(Delaunay(points).simplices)


folder = Path(sys.argv[1])
for name in sys.argv[2:]:
    points = np.stack([np.fromfile(folder / f"{name}.{axis}") for axis in "xy"], axis=1)
    for program, run in [("triangle", by_triangle), ("scipy", by_scipy)]:
        try:
            start = time.perf_counter()
            edges = run(points)
            row(program, name, points, edges, (time.perf_counter() - start) * 1e3)
        except (ImportError, RuntimeError) as error:
            print(f"# {program}, {name}: {error}")
