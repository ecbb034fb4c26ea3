// What the programs over nearest points share: the points and queries of `quadtree_bench nearest_`, its rows, and a comparison
// with brute force. A row: library, name, points, queries, and the median, least and greatest of 5 runs in ms between events,
// after one to warm up.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(call)                                                                                  \
    do {                                                                                             \
        cudaError_t error = (call);                                                                  \
        if (error != cudaSuccess) {                                                                  \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                           \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

// Points as benches/src/quadtree_bench.rs makes them.
static uint64_t mix(uint64_t i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static float unit(uint64_t i, int axis, uint64_t seed) {
    return float(mix(i * 2 + axis + (seed << 40)) >> 40) / float(1u << 24);
}

static std::vector<float2> points_of(const std::string &kind, size_t count, uint64_t seed) {
    std::vector<float2> points(count);
    for (size_t i = 0; i < count; i++) {
        float along[2] = {unit(i, 0, seed), unit(i, 1, seed)};
        if (kind == "clustered") {
            for (int axis = 0; axis < 2; axis++) {
                float offset = 2 * along[axis] - 1, width = 0.1f * float(i % 64 + 1) / 64;
                float place = unit(i % 64, axis, seed + 100) + width * offset * offset * offset;
                along[axis] = std::min(std::max(place, 0.0f), 1.0f);
            }
        } else if (kind == "lines") {
            float line = std::floor(along[1] * 100), within = along[1] * 1e4f;
            along[1] = (line + 0.5f) / 100 + (within - std::floor(within)) * 1e-4f;
        }
        points[i] = make_float2(along[0], along[1]);
    }
    return points;
}

static std::vector<float2> cells_of(size_t side) {
    std::vector<float2> cells(side * side);
    for (size_t i = 0; i < cells.size(); i++) {
        size_t patch = i / 32, cell = i % 32, square = patch / 50, in = patch % 50;
        size_t column = (square % (side / 40) * 5 + in % 5) * 8 + cell % 8;
        size_t row = (square / (side / 40) * 10 + in / 5) * 4 + cell / 8;
        cells[i] = make_float2((float(column) + 0.5f) / side, (float(row) + 0.5f) / side);
    }
    return cells;
}

template <class Work, class Undo>
static void row(const char *library, const std::string &name, size_t points, size_t queries, Work work, Undo undo) {
    std::vector<float> times;
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int run = 0; run < 6; run++) {
        CHECK(cudaEventRecord(begin));
        work();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (run > 0) times.push_back(ms);
        if (run < 5) undo();
    }
    CHECK(cudaGetLastError());
    std::sort(times.begin(), times.end());
    printf("%s\t%s\t%zu\t%zu\t%.4f\t%.4f\t%.4f\n", library, name.c_str(), points, queries, times[2], times[0], times[4]);
    fflush(stdout);
}

// The distances of a sample of queries are those of brute force; `found_of` gives those that a query found, in any order.
template <class FoundOf>
static void check(const char *library, const std::vector<float2> &points, const std::vector<float2> &queries, int k, FoundOf found_of) {
    std::vector<float> all(points.size());
    for (size_t s = 0; s < 8; s++) {
        size_t query = s * (queries.size() / 8);
        for (size_t i = 0; i < points.size(); i++) {
            float dx = points[i].x - queries[query].x, dy = points[i].y - queries[query].y;
            all[i] = dx * dx + dy * dy;
        }
        std::partial_sort(all.begin(), all.begin() + k, all.end());
        std::vector<float> found = found_of(query);
        std::sort(found.begin(), found.end());
        for (int i = 0; i < k; i++) {
            if (std::fabs(found[i] - std::sqrt(all[i])) > 1e-6f) {
                fprintf(stderr, "%s: query %zu, neighbour %d is %g away, not %g\n", library, query, i, found[i], std::sqrt(all[i]));
                exit(1);
            }
        }
    }
}
