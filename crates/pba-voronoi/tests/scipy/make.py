"""Makes the reference arrays of tests/scipy.rs: python3 make.py, with NumPy and SciPy.

NAME.mask holds a byte a pixel (1 at a site), NAME.distance little-endian f64, both row by row; the
sides and the sampling stand in tests/scipy.rs. Made by SciPy 1.17.1 and NumPy 2.4.6.
"""

import numpy as np
from scipy import ndimage

CASES = [
    ("square", 61, 47, 0.05, (1.0, 1.0)),
    ("dense", 64, 32, 0.3, (1.0, 1.0)),
    ("one", 40, 33, 0.0, (1.0, 1.0)),
    ("tall", 50, 37, 0.02, (2.0, 1.0)),
    ("metres", 45, 52, 0.03, (30.0, 30.0)),
]

for name, width, height, density, sampling in CASES:
    mask = np.random.default_rng(len(name)).random((height, width)) < density
    if density == 0.0:
        mask[7, 31] = True
    mask.astype(np.uint8).tofile(name + ".mask")
    distance = ndimage.distance_transform_edt(~mask, sampling=sampling)
    distance.astype("<f8").tofile(name + ".distance")
