"""Makes the arrays of tests/scipy.rs: sites in degrees, and the areas of their regions by SciPy.

pip install scipy numpy; python make.py, or python make.py --check, which computes the areas of the sites that the files
have again, and compares. A file has for each site longitude, latitude and area, as f64, little-endian.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.spatial import SphericalVoronoi

HERE = Path(__file__).parent


def areas_of(longitudes, latitudes):
    lon, lat = np.radians(longitudes), np.radians(latitudes)
    places = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    return SphericalVoronoi(places, threshold=1e-12).calculate_areas()


def write(name, longitudes, latitudes):
    areas = areas_of(longitudes, latitudes)
    rows = np.stack([longitudes, latitudes, areas], axis=1)
    (HERE / f"{name}.areas").write_bytes(rows.astype("<f8").tobytes())
    print(name, len(areas), areas.sum() / (4 * np.pi))


def check(name):
    longitudes, latitudes, areas = np.fromfile(HERE / f"{name}.areas", "<f8").reshape(-1, 3).T
    difference = np.abs(areas_of(longitudes, latitudes) - areas).max()
    print(name, len(areas), "sites, areas differ by at most", difference)
    if not difference < 1e-11:
        sys.exit(f"{name}: SciPy's areas are not those of the file")


def make():
    random = np.random.default_rng(1)
    lon = random.uniform(-180, 180, 300)
    write("uniform", lon, np.degrees(np.arcsin(random.uniform(-1, 1, 300))))
    # Half of the sites crowd in one place.
    lon = np.concatenate([random.uniform(-180, 180, 60), random.normal(25, 8, 60)])
    lat = np.concatenate([np.degrees(np.arcsin(random.uniform(-1, 1, 60))), random.normal(60, 5, 60)])
    write("crowded", lon, lat)


if sys.argv[1:] == ["--check"]:
    check("uniform")
    check("crowded")
else:
    make()
