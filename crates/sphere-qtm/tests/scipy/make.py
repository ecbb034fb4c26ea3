"""Makes the arrays of tests/scipy.rs: sites in degrees, and the areas of their regions by SciPy.

pip install scipy numpy; python make.py. A file has for each site longitude, latitude and area, as f64, little-endian.
"""

from pathlib import Path

import numpy as np
from scipy.spatial import SphericalVoronoi

HERE = Path(__file__).parent


def write(name, longitudes, latitudes):
    lon, lat = np.radians(longitudes), np.radians(latitudes)
    places = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)
    areas = SphericalVoronoi(places, threshold=1e-12).calculate_areas()
    rows = np.stack([longitudes, latitudes, areas], axis=1)
    (HERE / f"{name}.areas").write_bytes(rows.astype("<f8").tobytes())
    print(name, len(areas), areas.sum() / (4 * np.pi))


random = np.random.default_rng(1)
write("uniform", random.uniform(-180, 180, 300), np.degrees(np.arcsin(random.uniform(-1, 1, 300))))
# Half of the sites crowd in one place.
lon = np.concatenate([random.uniform(-180, 180, 60), random.normal(25, 8, 60)])
lat = np.concatenate([np.degrees(np.arcsin(random.uniform(-1, 1, 60))), random.normal(60, 5, 60)])
write("crowded", lon, lat)
