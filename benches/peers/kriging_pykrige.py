"""PyKrige beside crate kriging: time of 100,000 points to 1000 x 1000 cells with 12 neighbours.

python kriging_pykrige.py [POINTS [SIDE]]   prints a row as the benches do; needs pykrige (PyPI).
PyKrige keeps all cells' distances and indices of neighbours in memory, and solves cell by cell (backend "C").
"""

import sys
import time

import numpy
import pykrige
from pykrige.ok import OrdinaryKriging


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    random = numpy.random.default_rng(1)
    x, y = random.uniform(0.0, side, (2, count))
    z = 10 * numpy.sin(x / 150) + 8 * numpy.cos(y / 200) + 4 * random.uniform(size=count)
    parameters = {"psill": 2.0, "range": 300.0, "nugget": 0.5}
    centres = numpy.arange(side) + 0.5
    start = time.perf_counter()
    # Its constructor makes the empirical variogram of all pairs, whatever is given: of a few points, then the rest is set.
    few = slice(0, 1000)
    kriging = OrdinaryKriging(
        x[few], y[few], z[few], variogram_model="spherical", variogram_parameters=parameters
    )
    kriging.X_ADJUSTED, kriging.Y_ADJUSTED, kriging.Z = x, y, z
    kriging.execute("grid", centres, centres, n_closest_points=12, backend="C")
    milliseconds = 1e3 * (time.perf_counter() - start)
    print(f"pykrige {pykrige.__version__}\tkriging_spherical_k12\t{count}\t{side * side}\t" + "\t".join([f"{milliseconds:.0f}"] * 3))


main()
