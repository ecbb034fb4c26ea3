#!/usr/bin/env bash
# Runs what is beside it on this machine's GPU.
#   ./run.sh tests             every test, on the card
#   ./run.sh sanitize TOOL     the tests under compute-sanitizer (memcheck, racecheck, ...), JOBS at a time
#   ./run.sh bench NAME [ARG]  NAME_bench: gpu, scan, idw, and what else lies in bin/
#   ./run.sh results FOLDER [NAME..]  what benches/results holds: these benches (gpu, idw, ...) and peers in CUDA C++
#                              (cub_bench, ...), the papers' tables (papers_nni, ...), or all; MASK=FILE is the raster for gpu_bench
#   ./run.sh scale FILE [DEVICE]  a DEM in tiles on cuda, or cuda:all: scale_one.jsonl, or scale_two.jsonl
set -u
here=$(cd "$(dirname "$0")" && pwd)
export TESSERA_DEVICE=${TESSERA_DEVICE:-cuda}
failed=0

tests() {
    for test in "$here"/tests/*; do
        echo "== $(basename "$test")"
        (cd "$here" && "$test" --test-threads=4) || failed=$((failed + 1))
    done
    echo "test binaries failed: $failed"
    [ "$failed" = 0 ]
}

# One test under a tool, in a process of its own.
watched() {
    local tool=$1 binary=$2 test=$3 log
    log=$(mktemp)
    (cd "$here" && compute-sanitizer --tool "$tool" --error-exitcode 9 --require-cuda-init=no \
        $([ "$tool" = memcheck ] && echo --report-api-errors=no) \
        "$binary" --exact "$test" --test-threads=1) > "$log" 2>&1 && { rm "$log"; return; }
    echo "== $(basename "$binary") $test"
    tail -c 4000 "$log"
    rm "$log"
    return 1
}

# Every test under a tool, several at a time: a process instruments its kernels one after the other.
sanitize() {
    export TESSERA_WATCHED=1 here
    export -f watched
    local binary
    for binary in "$here"/tests/*; do
        "$binary" --list 2> /dev/null | sed -n "s|\(.*\): test$|$1 $binary \1|p"
    done | xargs -P "${JOBS:-$(nproc)}" -L 1 bash -c 'watched "$0" "$1" "$2"' \
        && echo "no test has a report"
}

# Runs a program, with the lines that say where and how its rows were taken before them.
taken() {
    echo "# date: $(date -u +%F)"
    echo "# device: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1), $(nproc) CPU threads"
    echo "# command: ${*##*/}"
    "$@"
}

results() {
    local folder=$1 name arguments kind
    mkdir -p "$folder"
    for name in ${*:2}; do
        if [ -f "$here/peers/$name.cu" ]; then
            arguments=("$here/built/$name")
            mkdir -p "$here/built"
            # The raster index's build rounds as the library does.
            # Headers of rivals are fetched beside the peers by whoever wants their rows.
            nvcc -O3 -std=c++17 -arch=native $([ "$name" = ccq_pyramid ] && echo -fmad=false) \
                $([ "$name" = idw_cdp ] && echo -rdc=true) \
                $([ "$name" = nearest_rivals ] && echo "--extended-lambda -I $here/cubql -I $here/cukd") \
                "$here/peers/$name.cu" -o "${arguments[0]}" || { failed=$((failed + 1)); continue; }
        else
            arguments=("$here/bin/${name}_bench")
            [ "$name" = gpu ] && [ -n "${MASK:-}" ] && arguments+=("" "$MASK")
            [ "$name" = neighbours ] && arguments=("$here/bin/quadtree_bench" nearest_)
        fi
        kind=tsv
        # The papers' tables are printed in Markdown.
        [[ $name = papers_* ]] && kind=md arguments=("$here/bin/papers_bench" "${name#papers_}")
        taken "${arguments[@]}" > "$folder/$name.$kind" || failed=$((failed + 1))
    done
    echo "programs failed: $failed"
    [ "$failed" = 0 ]
}

case "${1:-tests}" in
tests) tests ;;
sanitize) sanitize "$2" ;;
bench) "$here/bin/${2:-gpu}_bench" "${@:3}" ;;
results)
    every="gpu idw kriging quadtree neighbours morton_cub ccq ccq_pyramid sphere sphere_shared idw_tiled sizes scan cub_bench \
papers_nni papers_idw papers_qtm papers_quadtree papers_ccq idw_cdp jfa quadtree_levels"
    if [ $# -gt 2 ]; then results "${@:2}"; else results "$2" $every; fi
    ;;
scale)
    work=$(mktemp -d)
    taken "$here/bin/scale_bench" "$here/bin/lidar_dem" "$work" "${3:-cuda}" 6144 > "$2"
    rm -rf "$work"
    ;;
*) sed -n '2,8p' "$0"; exit 2 ;;
esac
