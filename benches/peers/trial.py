"""The programs beside their rivals, as a GIS analyst would run them.

    python3 trial.py [--bin DIR] [--work DIR] [--pairs N] [--points N] [--data DIR]

Needs the release builds of the programs (cargo build --release --bins), and takes what it finds of
the rivals: startinpy, scipy, edt, opencv-python-headless, laspy, lazrs, numpy, whitebox-workflows (PyPI);
gdal_grid, gdal_proximity, gdaldem and gdal_contour (Debian's gdal-bin). Program and rival run in
turn, N pairs; of each the median of the processor time (user and system), of the wall time, and of the
largest memory is printed. A rival that is not there is named and passed over.

Accuracy: a tenth of the ground points is held out, and the bilinear DEM compared there, at the points that
all methods have, five cells and more from the edge.
"""

import argparse
import importlib.util
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

PYTHON = sys.executable

PIXELS = ["--method", "pixels"]


# Seconds after which a rival is given up.
PATIENCE = 200


def run(command, cwd, patience=3600):
    """Seconds of the wall, seconds of processors, and the most memory in MB of a command.

    A child begins with its parent's memory: so this process holds no data, which others make.
    """
    start = time.monotonic()
    child = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    given_up = threading.Timer(patience, child.kill)
    given_up.start()
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    given_up.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if wall >= patience:
        raise RuntimeError(f"not finished in {patience} s")
    if child.returncode != 0:
        raise RuntimeError(f"{command}: {errors.decode(errors='replace').strip()[-300:]}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def alternate(title, contenders, cwd, pairs):
    """Runs all contenders in turn, and prints their medians and their wall time over the first's."""
    taken = {name: [] for name in contenders}
    failed = {}
    for _ in range(pairs):
        for name, command in contenders.items():
            if name in failed:
                continue
            try:
                taken[name].append(run(command, cwd, PATIENCE))
            except (RuntimeError, OSError) as error:
                failed[name] = str(error)
    print(f"\n### {title}\n\n| command | wall s | CPU s | peak MB | first's wall over its |")
    print("|---|---|---|---|---|")
    first = next(iter(taken.values()))
    for name, times in taken.items():
        if name in failed or not times:
            print(f"| {name} | failed: {failed.get(name, '')[:120]} | | | |")
            continue
        wall, cpu, memory = (statistics.median(column) for column in zip(*times))
        ratio = statistics.median(a[0] / b[0] for a, b in zip(first, times))
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {memory:.0f} | {ratio:.2f} |")


def have(*modules):
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if missing:
        print(f"passed over: no {', '.join(missing)}")
    return not missing


def script(code):
    return [PYTHON, "-c", textwrap.dedent(code)]


def startinpy_dem(laz, out, method):
    """An exact DEM of the ground points of a LAZ file on its metre grid."""
    return script(f"""
        import laspy, numpy, startinpy
        las = laspy.read({laz!r})
        ground = numpy.asarray(las.classification) == 2
        points = numpy.column_stack([las.x, las.y, las.z])[ground]
        dt = startinpy.DT()
        dt.duplicates_handling = "First"
        dt.insert(points)
        west, north = numpy.floor(points[:, 0].min()), numpy.ceil(points[:, 1].max())
        columns = int(points[:, 0].max() - west) + 1
        rows = int(north - points[:, 1].min()) + 1
        x, y = numpy.meshgrid(west + numpy.arange(columns) + .5, north - numpy.arange(rows) - .5)
        z = dt.interpolate({{"method": {method!r}}}, numpy.column_stack([x.ravel(), y.ravel()]))
        numpy.save({out!r}, z.reshape(rows, columns).astype("f4"))
    """)


# What Whitebox calls its methods, and what they need.
WHITEBOX = {
    "TIN": ("lidar_tin_gridding", ""),
    "IDW": ("lidar_idw_interpolation", ", search_radius=2.5"),
    "nearest": ("lidar_nearest_neighbour_gridding", ", search_radius=2.5"),
    "Sibson": ("lidar_sibson_interpolation", ""),
}


def whitebox_dem(laz, out, method, cell=1.0):
    tool, more = WHITEBOX[method]
    return script(f"""
        import whitebox_workflows
        wbe = whitebox_workflows.WbEnvironment()
        cloud = wbe.read_lidar({laz!r})
        kept = [c for c in range(19) if c != 2]
        gridding = wbe.lidar.interpolation_gridding
        dem = gridding.{tool}(input=cloud, resolution={cell}, excluded_classes=kept{more})
        wbe.write_raster(dem, {out!r})
    """)


def terrain(args, bin_at, cwd):
    survey = f"{cwd}/survey.laz"
    lidar = f"{bin_at}/lidar_dem"
    run([lidar, "--survey-points", str(args.points), "-o", f"{cwd}/first.tif", "--device", "cpu"], cwd)
    ours = [lidar, survey, "--classes", "2", "--device", "cpu", "--overwrite", "-o", "dem.tif"]
    contenders = {
        "lidar_dem": ours,
        "lidar_dem, --weights c1": ours + ["--weights", "c1"],
        "lidar_dem, --method pixels": ours + PIXELS,
        "lidar_dem, --method pixels --supersample 4": ours + PIXELS + ["--supersample", "4"],
    }
    # It takes minutes for more.
    if args.points <= 2_000_000 and have("laspy", "startinpy", "numpy"):
        contenders["startinpy TIN"] = startinpy_dem(survey, "tin.npy", "TIN")
        contenders["startinpy NNI"] = startinpy_dem(survey, "nni.npy", "NNI")
    if have("whitebox_workflows"):
        for method in WHITEBOX:
            contenders[f"Whitebox {method}"] = whitebox_dem(survey, f"{cwd}/wb.tif", method)
    alternate(f"LAZ ground points to a 1 m DEM ({args.points} pulses)", contenders, cwd, args.pairs)

    corner = (560_000, 5_120_000)
    side = int(args.points**0.5)
    low, high = side // 3, side // 3 + min(500, side // 3)
    bounds = f"--bounds={corner[0] + low},{corner[1] + low},{corner[0] + high},{corner[1] + high}"
    alternate("A tile of it", {"lidar_dem --bounds": ours + [bounds]}, cwd, args.pairs)


def large(args, bin_at, cwd):
    """Ten times as many pulses, once."""
    lidar, pulses = f"{bin_at}/lidar_dem", 10 * args.points
    run([lidar, "--survey-points", str(pulses), "-o", f"{cwd}/first.tif", "--device", "cpu", "--overwrite"], cwd)
    survey = f"{cwd}/survey.laz"
    ours = [lidar, survey, "--classes", "2", "--device", "cpu", "--overwrite", "-o", "dem.tif"]
    contenders = {"lidar_dem": ours, "lidar_dem, --method pixels": ours + PIXELS}
    if have("whitebox_workflows"):
        contenders["Whitebox TIN"] = whitebox_dem(survey, f"{cwd}/wb.tif", "TIN")
    alternate(f"LAZ ground points to a 1 m DEM ({pulses} pulses)", contenders, cwd, 1)


def planes(args, bin_at, cwd):
    """Where a DEM lies: of points on a plane, the mean of what it is above it."""
    if not have("numpy"):
        return
    import numpy

    side, edge = 400, 40
    lidar = [f"{bin_at}/lidar_dem", "plane.csv", "--resolution", "1", f"--bounds=0,0,{side},{side}"]
    lidar += ["--device", "cpu", "--overwrite", "-o", "plane.npy"]
    methods = {"lidar_dem": [], "--method pixels": PIXELS}
    methods |= {f"--method pixels --supersample {n}": PIXELS + ["--supersample", str(n)] for n in (2, 4)}
    print("\n### Points on planes of slope 1: mean of the DEM less the plane, in cells\n")
    print(f"| points a cell | plane | {' | '.join(methods)} | startinpy NNI |\n|---|---|{'---|' * (len(methods) + 1)}")
    cells = numpy.arange(side) + 0.5
    inside = slice(edge, side - edge)
    for density in (0.25, 1, 4):
        places = numpy.random.default_rng(7).random((int(density * side * side), 2)) * side
        for plane, z, truth in [
            ("z = x", places[:, 0], numpy.broadcast_to(cells, (side, side))),
            ("z = y", places[:, 1], numpy.broadcast_to((side - cells)[:, None], (side, side))),
        ]:
            table = numpy.column_stack([places, z])
            numpy.savetxt(f"{cwd}/plane.csv", table, "%.6f", ",", header="x,y,z", comments="")
            row = []
            for more in methods.values():
                run(lidar + more, cwd)
                row.append(numpy.load(f"{cwd}/plane.npy"))
            if have("startinpy"):
                import startinpy

                dt = startinpy.DT()
                dt.insert(table)
                x, y = numpy.meshgrid(cells, side - cells)
                # Places inside alone: at the hull's edge it has none.
                x, y = x[inside, inside].ravel(), y[inside, inside].ravel()
                dem = numpy.full((side, side), numpy.nan)
                dem[inside, inside] = dt.interpolate(
                    {"method": "NNI"}, numpy.column_stack([x, y])).reshape(side - 2 * edge, -1)
                row.append(dem)
            means = [f"{numpy.nanmean((dem - truth)[inside, inside]):+.4f}" for dem in row]
            print(f"| {density} | {plane} | {' | '.join(means)} |")


def bilinear(dem, west, north, cell, places):
    """A DEM at places, NaN outside: the weighted mean of four cells."""
    import numpy

    column, row = (places[:, 0] - west) / cell - 0.5, (north - places[:, 1]) / cell - 0.5
    c, r = numpy.floor(column).astype(int), numpy.floor(row).astype(int)
    inside = (c >= 0) & (r >= 0) & (c + 1 < dem.shape[1]) & (r + 1 < dem.shape[0])
    c, r, u, v = c[inside], r[inside], (column - c)[inside], (row - r)[inside]
    z = numpy.full(len(places), numpy.nan)
    z[inside] = (dem[r, c] * (1 - u) * (1 - v) + dem[r, c + 1] * u * (1 - v)
                 + dem[r + 1, c] * (1 - u) * v + dem[r + 1, c + 1] * u * v)
    return z


def by_whitebox(kept, like, cell, cwd):
    """Whitebox's DEMs of points, each with its west, north and method."""
    import laspy
    import numpy

    las = laspy.LasData(laspy.LasHeader(point_format=1, version="1.2"))
    las.header.scales, las.header.offsets = like.header.scales, like.header.offsets
    las.x, las.y, las.z = kept.T
    las.classification = numpy.full(len(kept), 2)
    las.write(f"{cwd}/kept.laz")
    for method in ("TIN", "Sibson"):
        try:
            run(whitebox_dem(f"{cwd}/kept.laz", f"{cwd}/held.tif", method, cell), cwd, PATIENCE)
        except RuntimeError as error:
            print(f"Whitebox {method}: {error}", file=sys.stderr)
            continue
        run(["gdal_translate", "-q", "-of", "ENVI", "-ot", "Float64", "held.tif", "held.img"], cwd)
        lines = [line.partition("=") for line in open(f"{cwd}/held.hdr")]
        header = {key.strip(): value.strip("{} \n") for key, _, value in lines}
        place = header["map info"].split(",")
        dem = numpy.fromfile(f"{cwd}/held.img").reshape(int(header["lines"]), int(header["samples"]))
        dem[dem < -9000] = numpy.nan
        yield method, dem, float(place[3]), float(place[4])


def held_out(path, cell, args, bin_at, cwd):
    """What each method finds at a tenth of a cloud's ground points, by the others; and what is there."""
    import laspy
    import numpy
    import startinpy

    las = laspy.read(path)
    ground = numpy.asarray(las.classification) == 2
    if ground.sum() < 1000:
        ground[:] = True  # without classes all points are taken
    points = numpy.column_stack([las.x, las.y, las.z])[ground]
    held = numpy.random.default_rng(1).random(len(points)) < 0.1
    kept, places = points[~held], points[held, :2]
    numpy.savetxt(f"{cwd}/kept.csv", kept, "%.4f", ",", header="x,y,z", comments="")
    west, north = numpy.floor(kept[:, 0].min() / cell) * cell, numpy.ceil(kept[:, 1].max() / cell) * cell
    found = {}
    base = [f"{bin_at}/lidar_dem", "kept.csv", "--resolution", str(cell), "--device", "cpu"]
    base += ["--overwrite", "-o", "held.npy"]
    for label, more in [("lidar_dem", []), ("lidar_dem, --weights c1", ["--weights", "c1"]),
                        ("lidar_dem, --method pixels --supersample 4", PIXELS + ["--supersample", "4"])]:
        run(base + more, cwd)
        dem = numpy.load(f"{cwd}/held.npy")
        found[label] = bilinear(dem, west, north, cell, places)
    dt = startinpy.DT()
    dt.duplicates_handling = "First"
    dt.insert(kept)
    # At the cells of the same DEM around the points, and at the points themselves.
    near = numpy.zeros(dem.shape, bool)
    c = numpy.floor((places[:, 0] - west) / cell - 0.5).astype(int)
    r = numpy.floor((north - places[:, 1]) / cell - 0.5).astype(int)
    for down, right in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        near[(r + down).clip(0, dem.shape[0] - 1), (c + right).clip(0, dem.shape[1] - 1)] = True
    r, c = numpy.nonzero(near)
    cells = numpy.column_stack([west + (c + .5) * cell, north - (r + .5) * cell])
    for method in ["TIN", "NNI"]:
        exact = numpy.full(dem.shape, numpy.nan)
        exact[r, c] = dt.interpolate({"method": method}, cells)
        found[f"startinpy {method}"] = bilinear(exact, west, north, cell, places)
        found[f"startinpy {method}, at the points"] = dt.interpolate({"method": method}, places)
    if have("whitebox_workflows"):
        for method, dem, west, north in by_whitebox(kept, las, cell, cwd):
            found[f"Whitebox {method}"] = bilinear(dem, west, north, cell, places)
    # At the edge a triangle may be as long as it, and no method means anything.
    low, high = kept[:, :2].min(0) + 5 * cell, kept[:, :2].max(0) - 5 * cell
    known = numpy.all((places > low) & (places < high), axis=1)
    known &= numpy.all([numpy.isfinite(z) for z in found.values()], axis=0)
    return {label: (z - points[held, 2])[known] for label, z in found.items()}


def accuracy(args, bin_at, cwd):
    """RMSE at held-out ground points."""
    if not have("laspy", "numpy", "startinpy"):
        return
    import numpy

    print("\n### RMSE at a tenth of the ground points, held out\n\n| cloud | method | RMSE |\n|---|---|---|")
    clouds = [("survey", f"{cwd}/survey.laz", 1.0)]
    for name, cell in [("topography.laz", 1.0), ("autzen.laz", 3.0), ("lone-star.laz", 1.0)]:
        clouds.append((name, f"{args.data}/{name}", cell))
    for name, path, cell in clouds:
        if not os.path.exists(path):
            print(f"| {name} | not there | |")
            continue
        for label, error in held_out(path, cell, args, bin_at, cwd).items():
            print(f"| {name} | {label} | {float(numpy.sqrt(numpy.mean(error ** 2))):.3f} |")


def distances(args, bin_at, cwd):
    if not have("numpy"):
        return
    land = os.path.abspath(f"{args.data}/land_mask_30s.npz")
    masks = [
        (4096, "blocks, 40%", "numpy.kron(r(side // 64) < 0.4, numpy.ones((64, 64), 'u1'))"),
        (4096, "random 1%", "r(side) < 0.01"),
        (4096, "random 0.01%", "r(side) < 0.0001"),
    ]
    if os.path.exists(land):
        north_west = f"numpy.load({land!r})['mask'][:side, :side]"
        masks += [(side, "the land mask's north-west", north_west) for side in (4096, 16384)]
    for side, title, mask in masks:
        run(script(f"""
            import numpy
            side = {side}
            rng = numpy.random.default_rng(1)
            r = lambda side: rng.random((side, side))
            numpy.save("mask.npy", ({mask}).astype("u1"))
        """), cwd)
        ours = [f"{bin_at}/distance_transform", "mask.npy", "-o", "d.npy", "--device", "cpu", "--overwrite"]
        contenders = {"distance_transform": ours}
        load = "import numpy; away = numpy.load('mask.npy') == 0; "
        if have("edt"):
            contenders["edt, 2 threads"] = script(
                load + "import edt; numpy.save('e.npy', edt.edt(away, parallel=2))")
        if have("scipy"):
            contenders["SciPy"] = script(
                load + "from scipy import ndimage; "
                "numpy.save('s.npy', ndimage.distance_transform_edt(away).astype('f4'))")
        if have("cv2"):
            contenders["OpenCV precise"] = script(
                load + "import cv2; numpy.save('c.npy', cv2.distanceTransform("
                "away.astype('u1'), cv2.DIST_L2, cv2.DIST_MASK_PRECISE))")
        pairs = args.pairs if side <= 4096 else 1
        alternate(f"Distances, {side}^2, {title}", contenders, cwd, pairs)


def proximity(args, bin_at, cwd):
    """From GeoTIFF to GeoTIFF."""
    land = os.path.abspath(f"{args.data}/land_mask_30s.npz")
    if not have("numpy") or not os.path.exists(land) or not shutil.which("gdal_proximity.py"):
        return
    run(script(f"""
        import numpy
        numpy.load({land!r})["mask"][:4096, :4096].astype("u1").tofile("mask.raw")
    """), cwd)
    with open(f"{cwd}/mask.vrt", "w") as vrt:
        vrt.write("""<VRTDataset rasterXSize="4096" rasterYSize="4096">
            <VRTRasterBand dataType="Byte" band="1" subClass="VRTRawRasterBand">
            <SourceFilename relativeToVRT="1">mask.raw</SourceFilename></VRTRasterBand></VRTDataset>""")
    run(["gdal_translate", "-q", "mask.vrt", "mask.tif"], cwd)
    ours = [f"{bin_at}/distance_transform", "mask.tif", "-o", "d.tif", "--device", "cpu", "--overwrite"]
    contenders = {
        "distance_transform": ours,
        "distance_transform --compress none": ours + ["--compress", "none"],
        "gdal_proximity (not exact)": ["gdal_proximity.py", "-q", "mask.tif", "g.tif"],
    }
    alternate("The land mask's north-west, 4096^2, GeoTIFF to GeoTIFF", contenders, cwd, args.pairs)


def derivatives(args, bin_at, cwd):
    """Slopes, hillshades and contour lines of a smooth DEM with noise, from GeoTIFF."""
    side = 8192
    if not have("numpy") or not shutil.which("gdaldem"):
        return
    run(script(f"""
        import numpy
        x, y = numpy.arange({side}), numpy.arange({side})[:, None]
        dem = 40 * numpy.sin(x / 300) + 25 * numpy.cos(y / 170) + numpy.random.default_rng(3).random(({side}, {side})) / 50
        dem.astype("f4").tofile("dem.raw")
    """), cwd)
    with open(f"{cwd}/dem.vrt", "w") as vrt:
        vrt.write(f"""<VRTDataset rasterXSize="{side}" rasterYSize="{side}"><GeoTransform>0,1,0,{side},0,-1</GeoTransform>
            <VRTRasterBand dataType="Float32" band="1" subClass="VRTRawRasterBand">
            <SourceFilename relativeToVRT="1">dem.raw</SourceFilename></VRTRasterBand></VRTDataset>""")
    run(["gdal_translate", "-q", "-co", "TILED=YES", "dem.vrt", "ground.tif"], cwd)
    ours = [f"{bin_at}/terrain", "ground.tif", "--device", "cpu", "--overwrite", "--compress", "none"]
    for product in ["slope", "hillshade"]:
        contenders = {
            f"terrain --{product}": ours + [f"--{product}", "ours.tif"],
            f"gdaldem {product}": ["gdaldem", product, "-q", "ground.tif", "gdal.tif"],
        }
        alternate(f"A DEM's {product}, {side}^2, GeoTIFF to GeoTIFF, not packed", contenders, cwd, args.pairs)
    contenders = {
        "terrain --contours": ours[:-2] + ["--contours", "ours.fgb", "--contour-interval", "5"],
        "gdal_contour": ["gdal_contour", "-q", "-i", "5", "-a", "height", "-f", "FlatGeobuf", "ground.tif", "gdal.fgb"],
    }
    alternate(f"A DEM's contour lines, {side}^2, GeoTIFF to FlatGeobuf", contenders, cwd, args.pairs)


def write_vrt(cwd):
    """points.csv as GDAL reads it."""
    with open(f"{cwd}/points.vrt", "w") as vrt:
        vrt.write("""<OGRVRTDataSource><OGRVRTLayer name="points">
            <SrcDataSource relativeToVRT="1">points.csv</SrcDataSource>
            <GeometryType>wkbPoint</GeometryType>
            <GeometryField encoding="PointFromColumns" x="x" y="y" z="z"/>
            </OGRVRTLayer></OGRVRTDataSource>""")


def inverse_distance(args, bin_at, cwd):
    if not have("numpy"):
        return
    run(script("""
        import numpy
        points = numpy.random.default_rng(2).random((1_000_000, 2)) * 2000
        z = 100 + 20 * numpy.sin(points[:, 0] / 150) * numpy.cos(points[:, 1] / 90)
        table = numpy.column_stack([points, z])
        numpy.savetxt("points.csv", table, "%.4f", ",", header="x,y,z", comments="")
    """), cwd)
    write_vrt(cwd)
    ours = [f"{bin_at}/idw_surface", "points.csv", "--max-points", "12", "--bounds=0,0,2000,2000"]
    ours += ["--resolution", "1", "--device", "cpu", "--overwrite", "-o", "idw.tif"]
    contenders = {"idw_surface": ours}
    if shutil.which("gdal_grid"):
        grid = "invdistnn:power=2:radius=20:max_points=12"
        contenders["gdal_grid"] = [
            "gdal_grid", "-q", "-a", grid, "-txe", "0", "2000", "-tye", "0", "2000",
            "-outsize", "2000", "2000", "points.vrt", "gdal.tif"]
    if have("scipy"):
        contenders["SciPy cKDTree"] = script("""
            import numpy
            from scipy.spatial import cKDTree
            t = numpy.loadtxt("points.csv", delimiter=",", skiprows=1)
            x, y = numpy.meshgrid(numpy.arange(2000) + .5, 2000 - numpy.arange(2000) - .5)
            d, i = cKDTree(t[:, :2]).query(numpy.column_stack([x.ravel(), y.ravel()]), 12, workers=2)
            w = 1 / numpy.maximum(d, 1e-12) ** 2
            numpy.save("k.npy", ((w * t[i, 2]).sum(1) / w.sum(1)).astype("f4"))
        """)
    alternate("12 nearest of 1,000,000 points to 2000^2", contenders, cwd, args.pairs)


def all_pairs(args, bin_at, cwd):
    if not have("numpy") or not shutil.which("gdal_grid"):
        return
    run(script("""
        import numpy
        points = numpy.random.default_rng(2).random((10_000, 2)) * 2000
        z = 100 + 20 * numpy.sin(points[:, 0] / 150) * numpy.cos(points[:, 1] / 90)
        table = numpy.column_stack([points, z])
        numpy.savetxt("points.csv", table, "%.4f", ",", header="x,y,z", comments="")
    """), cwd)
    write_vrt(cwd)
    for side in (500, 2000):
        ours = [f"{bin_at}/idw_surface", "points.csv", "--bounds=0,0,2000,2000", "--size", f"{side}x{side}"]
        ours += ["--device", "cpu", "--overwrite", "-o", "idw.tif"]
        contenders = {"idw_surface": ours, "gdal_grid": [
            "gdal_grid", "-q", "-a", "invdist:power=2", "-txe", "0", "2000", "-tye", "0", "2000",
            "-outsize", str(side), str(side), "points.vrt", "gdal.tif"]}
        alternate(f"All pairs of 10,000 points to {side}^2", contenders, cwd, args.pairs)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.join(here, "..", "..")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=os.path.join(root, "target", "release"))
    parser.add_argument("--data", default=os.path.join(root, "..", "shared", "data"))
    parser.add_argument("--work", help="a folder to work in [default: a temporary one]")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["terrain", "large", "planes", "accuracy", "distances",
                                           "proximity", "derivatives", "inverse_distance", "all_pairs"])
    args = parser.parse_args()
    bin_at = os.path.abspath(args.bin)
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    work = args.work or tempfile.mkdtemp(prefix="trial-")
    os.makedirs(work, exist_ok=True)
    for part in [terrain, accuracy, large, planes, distances, proximity, derivatives, inverse_distance, all_pairs]:
        if args.only in (None, part.__name__):
            part(args, bin_at, work)
    if not args.work:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
