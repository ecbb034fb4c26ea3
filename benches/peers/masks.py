"""The random masks of distance_rivals.py and raster_rivals.py, which `cpu_bench distance` makes too."""

import numpy as np


def random_mask(side, density):
    """What is a site, by the mixing function of splitmix64."""
    sites = np.empty(side * side, dtype=bool)
    step = 1 << 24
    with np.errstate(over="ignore"):
        for start in range(0, sites.size, step):
            z = np.arange(start, min(start + step, sites.size), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
            sites[start : start + z.size] = (z >> np.uint64(32)) < int(density * 2**32)
    return sites.reshape(side, side)
