// The nearest points on the card by NVIDIA's cuBQL (a BVH) and Ingo Wald's cudaKDTree, for the rows that
// `quadtree_bench nearest_` prints: the same points, the same queries in the same order, the same columns.
//
// Both are header libraries that are fetched, not kept here:
//
//   git clone https://github.com/NVIDIA/cuBQL cubql && git clone https://github.com/ingowald/cudaKDTree cukd
//   nvcc -O3 -std=c++17 -arch=native --extended-lambda -I cubql -I cukd benches/peers/nearest_rivals.cu -o nearest_rivals
//   ./nearest_rivals
//
// A row: library, name, points, queries, and the median, least and greatest of 5 runs in ms between events, after one to
// warm up. Results are indices and distances of each query, in a row each, as ours are.
#define CUBQL_GPU_BUILDER_IMPLEMENTATION 1
#include "cuBQL/bvh.h"
#include "cuBQL/builder/cuda.h"
#include "cuBQL/queries/pointData/knn.h"
// cukd/builder.h uses it, and newer versions of Thrust do not bring it along.
#include <thrust/tuple.h>
#include "cukd/builder.h"
#include "cukd/knn.h"

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

using Box = cuBQL::box_t<float, 2>;
using Vector = cuBQL::vec_t<float, 2>;
using Bvh = cuBQL::BinaryBVH<float, 2>;

__global__ void boxes_of(const Vector *points, Box *boxes, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        boxes[i].lower = points[i];
        boxes[i].upper = points[i];
    }
}

template <int K>
__global__ void search_bvh(Bvh bvh, const Vector *points, const float2 *queries, int count, int *indices, float *distances) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    cuBQL::knn::Candidate found[K];
    Vector query;
    query.x = queries[i].x;
    query.y = queries[i].y;
    auto result = cuBQL::points::findKNN<float, 2>(found, K, bvh, points, query);
    for (int k = 0; k < K; k++) {
        indices[size_t(i) * K + k] = k < result.numFound ? found[k].primID : -1;
        distances[size_t(i) * K + k] = k < result.numFound ? sqrtf(found[k].sqrDist) : INFINITY;
    }
}

struct Numbered {
    float2 place;
    int index;
};

struct NumberedTraits : cukd::default_data_traits<float2> {
    using point_t = float2;
    static inline __device__ __host__ const point_t &get_point(const Numbered &n) { return n.place; }
    static inline __device__ __host__ float get_coord(const Numbered &n, int dim) { return dim ? n.place.y : n.place.x; }
    enum { has_explicit_dim = false };
    static inline __device__ __host__ int get_dim(const Numbered &) { return -1; }
    static inline __device__ void set_dim(Numbered &, int) {}
};

template <int K>
__global__ void search_kd(const Numbered *tree, int points, const float2 *queries, int count, int *indices, float *distances) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    cukd::FixedCandidateList<K> found(INFINITY);
    cukd::stackBased::knn<cukd::FixedCandidateList<K>, Numbered, NumberedTraits>(found, queries[i], tree, points);
    for (int k = 0; k < K; k++) {
        int at = found.get_pointID(k);
        indices[size_t(i) * K + k] = at < 0 ? -1 : tree[at].index;
        distances[size_t(i) * K + k] = sqrtf(found.get_dist2(k));
    }
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

// The distances of a sample of queries are those of brute force.
static void check(const char *library, const std::vector<float2> &points, const std::vector<float2> &queries, const float *distances, int k) {
    std::vector<float> all(points.size()), found(k);
    for (size_t s = 0; s < 8; s++) {
        size_t query = s * (queries.size() / 8);
        for (size_t i = 0; i < points.size(); i++) {
            float dx = points[i].x - queries[query].x, dy = points[i].y - queries[query].y;
            all[i] = dx * dx + dy * dy;
        }
        std::partial_sort(all.begin(), all.begin() + k, all.end());
        CHECK(cudaMemcpy(found.data(), distances + query * k, 4 * k, cudaMemcpyDeviceToHost));
        std::sort(found.begin(), found.end());
        for (int i = 0; i < k; i++) {
            if (std::fabs(found[i] - std::sqrt(all[i])) > 1e-6f) {
                fprintf(stderr, "%s: query %zu, neighbour %d is %g away, not %g\n", library, query, i, found[i], std::sqrt(all[i]));
                exit(1);
            }
        }
    }
}

int main() {
    const size_t count = 10'000'000, side = 5000;
    auto cells = cells_of(side);
    float2 *device_cells, *device_points, *device_others;
    Box *boxes;
    Numbered *tree;
    int *indices;
    float *distances;
    CHECK(cudaMalloc(&device_cells, cells.size() * sizeof(float2)));
    CHECK(cudaMalloc(&device_points, count * sizeof(float2)));
    CHECK(cudaMalloc(&device_others, count * sizeof(float2)));
    CHECK(cudaMalloc(&boxes, count * sizeof(Box)));
    CHECK(cudaMalloc(&tree, count * sizeof(Numbered)));
    CHECK(cudaMalloc(&indices, 12 * cells.size() * 4));
    CHECK(cudaMalloc(&distances, 12 * cells.size() * 4));
    CHECK(cudaMemcpy(device_cells, cells.data(), cells.size() * sizeof(float2), cudaMemcpyHostToDevice));
    for (std::string kind : {"uniform", "clustered", "lines"}) {
        auto points = points_of(kind, count, 2), others = points_of(kind, count, 3);
        CHECK(cudaMemcpy(device_points, points.data(), count * sizeof(float2), cudaMemcpyHostToDevice));
        CHECK(cudaMemcpy(device_others, others.data(), count * sizeof(float2), cudaMemcpyHostToDevice));
        auto name = [&](const char *what) { return "nearest_" + kind + "_" + what; };
        auto nothing = [] {};
        auto blocks = [](size_t queries) { return int((queries + 127) / 128); };

        auto *vectors = reinterpret_cast<Vector *>(device_points);
        Bvh bvh;
        cuBQL::BuildConfig config;
        config.makeLeafThreshold = 8;
        row("cubql", name("index"), count, 0, [&] {
            boxes_of<<<blocks(count), 128>>>(vectors, boxes, int(count));
            cuBQL::gpuBuilder(bvh, boxes, int(count), config);
        }, [&] { cuBQL::cuda::free(bvh); });
        auto bvh_rows = [&](auto k, const char *what, const float2 *queries, size_t number) {
            row("cubql", name(what), count, number, [&] {
                search_bvh<decltype(k)::value><<<blocks(number), 128>>>(bvh, vectors, queries, int(number), indices, distances);
            }, nothing);
        };
        std::integral_constant<int, 8> eight;
        std::integral_constant<int, 12> twelve;
        bvh_rows(eight, "others", device_others, count);
        check("cubql", points, others, distances, 8);
        bvh_rows(eight, "cells_8", device_cells, cells.size());
        bvh_rows(twelve, "cells_12", device_cells, cells.size());
        cuBQL::cuda::free(bvh);

        std::vector<Numbered> numbered(count);
        for (size_t i = 0; i < count; i++) numbered[i] = {points[i], int(i)};
        auto reset = [&] { CHECK(cudaMemcpy(tree, numbered.data(), count * sizeof(Numbered), cudaMemcpyHostToDevice)); };
        reset();
        row("cudakdtree", name("index"), count, 0, [&] { cukd::buildTree<Numbered, NumberedTraits>(tree, int(count)); }, reset);
        auto kd_rows = [&](auto k, const char *what, const float2 *queries, size_t number) {
            row("cudakdtree", name(what), count, number, [&] {
                search_kd<decltype(k)::value><<<blocks(number), 128>>>(tree, int(count), queries, int(number), indices, distances);
            }, nothing);
        };
        kd_rows(eight, "others", device_others, count);
        check("cudakdtree", points, others, distances, 8);
        kd_rows(eight, "cells_8", device_cells, cells.size());
        kd_rows(twelve, "cells_12", device_cells, cells.size());
    }
}
