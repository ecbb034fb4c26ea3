"""A DEM in tiles by Dask.

    lidar_dem plan tiles/*.laz --memory 8GiB -o plan.json
    python examples/cluster/dask_tiles.py plan.json dem.tif 8                 # 8 processes on this machine
    python examples/cluster/dask_tiles.py plan.json dem.tif tcp://head:8786   # the workers of a scheduler

A worker that is lost costs the tiles in its hands, which others make. dask_jobqueue.SLURMCluster and
dask_kubernetes.operator.KubeCluster take the place of LocalCluster where workers are jobs or pods.
"""

import json
import subprocess
import sys

from dask.distributed import Client, LocalCluster, as_completed


def tile(plan, number):
    command = ["lidar_dem", "run", plan, "--tile", str(number), "--threads", "1", "--device", "cpu", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


if __name__ == "__main__":
    plan, dem, where = sys.argv[1:]
    with open(plan) as file:
        count = len(json.load(file)["plan"]["tiles"])
    cluster = LocalCluster(int(where), threads_per_worker=1, dashboard_address=None) if where.isdigit() else where
    with Client(cluster) as client:
        # A tile may be unlucky twice; what fails thrice is not the worker's fault.
        futures = client.map(tile, [plan] * count, range(count), retries=2, pure=False)
        failed = [future.exception() for future in as_completed(futures) if future.status == "error"]
    for error in failed:
        print(error, file=sys.stderr)
    sys.exit(2 if failed else subprocess.run(["lidar_dem", "merge", plan, "-o", dem, "--cog", "--quiet"]).returncode)
