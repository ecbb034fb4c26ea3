"""Rasters on the card by what a user of Python has: cuCIM's and CuPy's distance transforms, xarray-spatial's slope, hillshade,
proximity and inverse distances, for rows of `gpu_bench` and `idw_bench`: python3 raster_rivals.py [FILTER]

Needs cupy, and cucim, xarray-spatial and numba with its support of CUDA for their rows; what is not installed is named and
passed over. Masks and heights are those of the benches and lie on the device. A row: library, name, cells, sites or points, and
the median, least and greatest of 10 runs in ms between events, after two to warm up; of work that takes over a second one run
after one. xarray-spatial computes and returns f64 for inverse distances, f32 elsewhere.
"""

import statistics
import sys

import cupy
import numpy as np

from masks import random_mask

FILTER = sys.argv[1] if len(sys.argv) > 1 else ""


def timed(library, name, cells, other, call):
    if FILTER not in name:
        return
    times = []
    try:
        for run in range(12):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            result = call()
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(begin, end))
            del result
            if run > 0 and times[-1] > 1000:
                break
    except Exception as error:
        print(f"# {library}, {name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
        return
    times = sorted(times[min(2, len(times) - 1) :])
    median = statistics.median(times)
    print(f"{library}\t{name}\t{cells}\t{other}\t{median:.5f}\t{times[0]:.5f}\t{times[-1]:.5f}", flush=True)


def distance_transforms():
    """Names of libraries, their versions and functions."""
    try:
        from cucim.core.operations.morphology import distance_transform_edt
        import cucim

        print(f"# cucim {cucim.__version__}")
        yield "cucim", distance_transform_edt
    except ImportError as error:
        print(f"# cucim is not installed: {error}")
    try:
        from cupyx.scipy.ndimage import distance_transform_edt

        yield "cupy", distance_transform_edt
    except ImportError as error:
        print(f"# this CuPy has no distance transform: {error}")


def distances():
    transforms = list(distance_transforms())
    for side in [4096, 16384]:
        for density, percent in [(0.0001, "0.01%"), (0.01, "1%"), (0.25, "25%")]:
            mask = random_mask(side, density)
            away = cupy.asarray(~mask)
            for library, transform in transforms:

                def indices():
                    return transform(away, return_distances=False, return_indices=True)

                for what, call in [("indices", indices), ("distances", lambda: transform(away))]:
                    timed(library, f"voronoi_{side}_{percent}_{what}", mask.size, int(mask.sum()), call)


def rasters():
    # NumPy 2.5 took this name away, and numba's code for the card asks for it.
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack
    try:
        import xarray
        import xrspatial
        from xrspatial import hillshade, proximity, slope
        from xrspatial.interpolate import idw
    except ImportError as error:
        print(f"# xarray-spatial is not installed: {error}")
        return
    print(f"# xarray-spatial {xrspatial.__version__}")

    def raster(values):
        height, width = values.shape
        places = {"y": np.arange(height) + 0.5, "x": np.arange(width) + 0.5}
        return xarray.DataArray(cupy.asarray(values), dims=["y", "x"], coords=places, attrs={"res": (1.0, 1.0)})

    x, y = np.arange(5000), np.arange(5000)[:, None]
    dem = raster((40 * np.sin(x / 300) + 25 * np.cos(y / 170)).astype(np.float32))
    timed("xarray-spatial", "slope", dem.size, 0, lambda: slope(dem))
    timed("xarray-spatial", "hillshade", dem.size, 0, lambda: hillshade(dem))
    mask = random_mask(4096, 0.0001)
    sites = raster(mask.astype(np.float32))
    timed("xarray-spatial", "voronoi_4096_0.01%_distances", mask.size, int(mask.sum()), lambda: proximity(sites))
    random = np.random.default_rng(1)
    for points in [10240, 1 << 20]:
        px, py, pz = random.random((3, points)) * 1024
        grid = raster(np.zeros((1024, 1024), dtype=np.float32))
        timed("xarray-spatial", "grid_p2", points, grid.size, lambda: idw(px, py, pz, grid))


print(f"# cupy {cupy.__version__}")
distances()
rasters()
