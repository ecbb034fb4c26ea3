#!/usr/bin/env bash
# Runs what is beside it on this machine's GPU.
#   ./run.sh tests             every test, on the card
#   ./run.sh sanitize TOOL     the tests under compute-sanitizer (memcheck, racecheck, ...)
#   ./run.sh bench [NAME ...]  gpu_bench
#   ./run.sh scan [FILTER]     scan_bench
#   ./run.sh idw [FILTER]      idw_bench
#   ./run.sh sphere [FILTER]   sphere_bench
set -u
here=$(cd "$(dirname "$0")" && pwd)
export TESSERA_DEVICE=${TESSERA_DEVICE:-cuda}
failed=0

each_test() {
    for test in "$here"/tests/*; do
        echo "== $(basename "$test")"
        (cd "$here" && "$@" "$test" --test-threads=4) || failed=$((failed + 1))
    done
    echo "test binaries failed: $failed"
    [ "$failed" = 0 ]
}

case "${1:-tests}" in
tests) each_test env ;;
sanitize) each_test compute-sanitizer --tool "$2" --error-exitcode 9 --require-cuda-init=no $([ "$2" = memcheck ] && echo --report-api-errors=no) ;;
bench) shift; "$here"/bin/gpu_bench "$@" ;;
scan) shift; "$here"/bin/scan_bench "$@" ;;
idw) shift; "$here"/bin/idw_bench "$@" ;;
sphere) shift; "$here"/bin/sphere_bench "$@" ;;
*) sed -n '2,7p' "$0"; exit 2 ;;
esac
