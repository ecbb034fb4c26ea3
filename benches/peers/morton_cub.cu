// What a quadtree is built from, without the tree: Morton codes of points in the unit square, CUB's radix sort of
// codes and indices, and a gather of the coordinates. The peer of quadtree_bench, whose rows and points it has.
//   nvcc -O3 -std=c++17 -arch=native -o morton_cub morton_cub.cu
// Resident f32 points from a fixed seed, all memory allocated before, 3 warm-ups, 10 runs between two events,
// the median, least and greatest time in ms. The order is checked on the host before a row is printed.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <vector>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t e = (call);                                                         \
        if (e != cudaSuccess) {                                                         \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));                  \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

constexpr int BLOCK = 256;
constexpr int RUNS = 10;

__host__ __device__ inline uint64_t spread(uint32_t v) {
    uint64_t b = v;
    b = (b | b << 16) & 0x0000ffff0000ffffull;
    b = (b | b << 8) & 0x00ff00ff00ff00ffull;
    b = (b | b << 4) & 0x0f0f0f0f0f0f0f0full;
    b = (b | b << 2) & 0x3333333333333333ull;
    return (b | b << 1) & 0x5555555555555555ull;
}

template <typename Code>
__global__ void encode(const float *x, const float *y, Code *codes, uint32_t *indices, uint32_t n, int level) {
    uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    double cells = (double)(1ull << level);
    uint32_t column = (uint32_t)fmin(floor((double)x[i] * cells), cells - 1);
    uint32_t row = (uint32_t)fmin(floor((double)y[i] * cells), cells - 1);
    codes[i] = (Code)(spread(column) | spread(row) << 1);
    indices[i] = i;
}

__global__ void gather(const float *x, const float *y, const uint32_t *order, float *sx, float *sy, uint32_t n) {
    uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    uint32_t from = order[i];
    sx[i] = x[from];
    sy[i] = y[from];
}

static uint64_t mix(uint64_t i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static std::vector<float> column(uint32_t n, int axis) {
    std::vector<float> all(n);
    for (uint64_t i = 0; i < n; i++) all[i] = (float)(mix(i * 2 + axis + (1ull << 40)) >> 40) / (float)(1 << 24);
    return all;
}

template <typename T>
static T *allocate(size_t n) {
    T *p;
    CHECK(cudaMalloc(&p, n * sizeof(T)));
    return p;
}

template <typename Code>
static void row(const char *name, uint32_t n, int level) {
    std::vector<float> hx = column(n, 0), hy = column(n, 1);
    float *x = allocate<float>(n), *y = allocate<float>(n), *sx = allocate<float>(n), *sy = allocate<float>(n);
    CHECK(cudaMemcpy(x, hx.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(y, hy.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    cub::DoubleBuffer<Code> codes(allocate<Code>(n), allocate<Code>(n));
    cub::DoubleBuffer<uint32_t> indices(allocate<uint32_t>(n), allocate<uint32_t>(n));
    size_t bytes = 0;
    CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, codes, indices, (int)n, 0, 2 * level));
    char *scratch = allocate<char>(bytes);
    int blocks = (n + BLOCK - 1) / BLOCK;
    auto run = [&] {
        encode<<<blocks, BLOCK>>>(x, y, codes.Current(), indices.Current(), n, level);
        CHECK(cub::DeviceRadixSort::SortPairs(scratch, bytes, codes, indices, (int)n, 0, 2 * level));
        gather<<<blocks, BLOCK>>>(x, y, indices.Current(), sx, sy, n);
    };
    for (int i = 0; i < 3; i++) run();
    CHECK(cudaDeviceSynchronize());
    std::vector<Code> sorted(n);
    CHECK(cudaMemcpy(sorted.data(), codes.Current(), n * sizeof(Code), cudaMemcpyDeviceToHost));
    if (!std::is_sorted(sorted.begin(), sorted.end())) {
        fprintf(stderr, "%s: not sorted\n", name);
        exit(1);
    }
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < RUNS; i++) {
        CHECK(cudaEventRecord(start));
        run();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    printf("cub\t%s\t%u\t0\t%.4f\t%.4f\t%.4f\n", name, n, times[RUNS / 2], times[0], times[RUNS - 1]);
    for (void *p : {(void *)x, (void *)y, (void *)sx, (void *)sy, (void *)scratch}) CHECK(cudaFree(p));
    CHECK(cudaFree(codes.d_buffers[0]));
    CHECK(cudaFree(codes.d_buffers[1]));
    CHECK(cudaFree(indices.d_buffers[0]));
    CHECK(cudaFree(indices.d_buffers[1]));
}

int main() {
    row<uint32_t>("morton_uniform_32", 80000000, 16);
    row<uint64_t>("morton_uniform_62", 80000000, 31);
    row<uint32_t>("morton_uniform_32", 169000000, 16);
    row<uint64_t>("morton_uniform_62", 169000000, 31);
}
