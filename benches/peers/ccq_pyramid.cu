// Times the published build of a cache-conscious quadtree, the peer that ccq-tree is raced against: a pyramid of (min,
// max) level by level, node flags in Z-order, one prefix sum by CUB, compaction (Zhang, You and Gruenwald 2010,
// doi:10.1145/1869790.1869859). Our own program after the paper's text.
//
//   nvcc -O3 -std=c++17 -fmad=false -arch=native benches/peers/ccq_pyramid.cu -o ccq_pyramid
//   ./ccq_pyramid [WIDTH HEIGHT]
//
// The raster is ccq_bench's: i16, a seeded fractal field, made on the device (without fused multiply-adds, so that the
// values are the same), 43200 x 21600 without arguments; eight bins of about as many cells. One tile of 4096 x 4096,
// and then all tiles of the raster, one after the other as the paper has them. Memory is allocated before; all nodes of a
// tile are written, 8 bytes each, and the next tile writes over them. Medians of ten by events, after two to warm up.
//
// Differences from the paper, all in its favour: values are binned in the kernel that reads them; the children of a node
// are found from the prefix sum of all nodes, so one sum does for all levels.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <cub/cub.cuh>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

constexpr int LEVELS = 12;
constexpr uint32_t SIDE = 1u << LEVELS;
constexpr int BLOCK = 256;

struct Bounds {
    short min, max;
};

// Where the quadrants of a level begin, in Z-order, in arrays of all levels.
__host__ __device__ constexpr uint32_t first_of(int level) { return ((1u << (2 * level)) - 1) / 3; }

constexpr uint32_t ALL = ((1u << (2 * LEVELS + 1)) * 2 - 1) / 3;

__device__ float lattice(uint32_t x, uint32_t y, uint32_t octave) {
    uint32_t bits = ((x * 0x9e3779b1u) ^ (y * 0x85ebca77u)) + octave;
    bits = (bits ^ bits >> 15) * 0x2c1b3c6du;
    return (float)(((bits ^ bits >> 12) * 0x297a2d39u) >> 8) / (float)(1 << 24);
}

__global__ void make_field(short *raster, uint32_t width, uint32_t height) {
    uint32_t column = blockIdx.x * BLOCK + threadIdx.x, row = blockIdx.y;
    if (column >= width) return;
    float value = 0, weight = 8000;
    uint32_t cell = 4096;
    for (uint32_t octave = 0; octave < 12; octave++) {
        uint32_t y = row / cell, x = column / cell;
        float v = (float)(row % cell) / (float)cell;
        float west = lattice(x, y, octave) * (1.0f - v) + lattice(x, y + 1, octave) * v;
        float east = lattice(x + 1, y, octave) * (1.0f - v) + lattice(x + 1, y + 1, octave) * v;
        float step = (east - west) * weight / (float)cell;
        value += west * weight + (float)(column % cell) * step;
        weight *= 0.6f;
        cell /= 2;
    }
    raster[(size_t)row * width + column] = (short)value;
}

__global__ void count_values(const short *raster, size_t cells, unsigned long long *counts) {
    for (size_t i = (size_t)blockIdx.x * BLOCK + threadIdx.x; i < cells; i += (size_t)gridDim.x * BLOCK)
        atomicAdd(&counts[(int)raster[i] + 32768], 1ull);
}

__device__ uint32_t even_bits(uint32_t z) {
    z &= 0x55555555;
    z = (z | z >> 1) & 0x33333333;
    z = (z | z >> 2) & 0x0f0f0f0f;
    z = (z | z >> 4) & 0x00ff00ff;
    return (z | z >> 8) & 0xffff;
}

struct Steps {
    short at[7];
};

// The cells of a tile, binned and in Z-order: the lowest level of the pyramid.
__global__ void bin_cells(const short *raster, uint32_t width, uint32_t height, uint32_t column0, uint32_t row0,
                          Steps steps, Bounds *cells) {
    uint32_t z = blockIdx.x * BLOCK + threadIdx.x;
    uint32_t column = column0 + even_bits(z), row = row0 + even_bits(z >> 1);
    Bounds bounds = {32767, -32768};
    if (column < width && row < height) {
        short value = raster[(size_t)row * width + column], bin = 0;
        for (int i = 0; i < 7; i++) bin += value >= steps.at[i];
        bounds = {bin, bin};
    }
    cells[z] = bounds;
}

__global__ void reduce_level(Bounds *bounds, int level) {
    uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= 1u << (2 * level)) return;
    const Bounds *four = bounds + first_of(level + 1) + 4 * i;
    Bounds all = four[0];
    for (int j = 1; j < 4; j++) {
        all.min = min(all.min, four[j].min);
        all.max = max(all.max, four[j].max);
    }
    bounds[first_of(level) + i] = all;
}

__global__ void flag_level(const Bounds *bounds, int level, uint32_t *flags) {
    uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= 1u << (2 * level)) return;
    Bounds own = bounds[first_of(level) + i];
    bool is_node = own.min <= own.max;
    if (level > 0) {
        Bounds parent = bounds[first_of(level - 1) + i / 4];
        is_node &= parent.min < parent.max;
    }
    flags[first_of(level) + i] = is_node;
}

__global__ void write_level(const Bounds *bounds, const uint32_t *flags, const uint32_t *positions, int level,
                            uint64_t *nodes) {
    uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= 1u << (2 * level) || !flags[first_of(level) + i]) return;
    Bounds own = bounds[first_of(level) + i];
    // The nodes before its first child's quadrant are those before its first child.
    uint32_t link = level < LEVELS && own.min < own.max ? positions[first_of(level + 1) + 4 * i] : 0;
    uint64_t values = (uint16_t)own.min | (uint32_t)(uint16_t)own.max << 16;
    nodes[positions[first_of(level) + i]] = values | (uint64_t)link << 32;
}

struct Tree {
    Bounds *bounds;
    uint32_t *flags, *positions;
    uint64_t *nodes;
    void *scratch;
    size_t scratch_bytes;

    Tree() {
        CHECK(cudaMalloc(&bounds, (size_t)ALL * sizeof(Bounds)));
        CHECK(cudaMalloc(&flags, (size_t)ALL * 4));
        CHECK(cudaMalloc(&positions, (size_t)ALL * 4));
        CHECK(cudaMalloc(&nodes, (size_t)ALL * 8));
        CHECK(cub::DeviceScan::ExclusiveSum(nullptr, scratch_bytes, flags, positions, (int)ALL));
        CHECK(cudaMalloc(&scratch, scratch_bytes));
    }

    void build(const short *raster, uint32_t width, uint32_t height, uint32_t column, uint32_t row, Steps steps) {
        auto blocks = [](int level) { return ((1u << (2 * level)) + BLOCK - 1) / BLOCK; };
        bin_cells<<<blocks(LEVELS), BLOCK>>>(raster, width, height, column, row, steps, bounds + first_of(LEVELS));
        for (int level = LEVELS - 1; level >= 0; level--) reduce_level<<<blocks(level), BLOCK>>>(bounds, level);
        for (int level = 0; level <= LEVELS; level++) flag_level<<<blocks(level), BLOCK>>>(bounds, level, flags);
        CHECK(cub::DeviceScan::ExclusiveSum(scratch, scratch_bytes, flags, positions, (int)ALL));
        for (int level = 0; level <= LEVELS; level++)
            write_level<<<blocks(level), BLOCK>>>(bounds, flags, positions, level, nodes);
        CHECK(cudaGetLastError());
    }

    uint64_t count() {
        uint32_t last[2];
        CHECK(cudaMemcpy(&last[0], positions + ALL - 1, 4, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&last[1], flags + ALL - 1, 4, cudaMemcpyDeviceToHost));
        return (uint64_t)last[0] + last[1];
    }
};

// Times `run` and prints a row: whose, the work, cells, nodes, and median, least and greatest time in ms.
void row(const char *work, uint64_t cells, uint64_t nodes, const std::function<void()> &run) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int i = 0; i < 12; i++) {
        CHECK(cudaEventRecord(begin));
        run();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float time;
        CHECK(cudaEventElapsedTime(&time, begin, end));
        if (i >= 2) times.push_back(time);
    }
    std::sort(times.begin(), times.end());
    printf("paper\t%s\t%llu\t%llu\t%.4f\t%.4f\t%.4f\n", work, (unsigned long long)cells, (unsigned long long)nodes,
           times[5], times.front(), times.back());
}

int main(int argc, char **argv) {
    uint32_t width = argc > 2 ? atoi(argv[1]) : 43200, height = argc > 2 ? atoi(argv[2]) : 21600;
    size_t cells = (size_t)width * height;
    short *raster;
    CHECK(cudaMalloc(&raster, cells * 2));
    make_field<<<dim3((width + BLOCK - 1) / BLOCK, height), BLOCK>>>(raster, width, height);
    unsigned long long *counts;
    CHECK(cudaMalloc(&counts, 65536 * 8));
    CHECK(cudaMemset(counts, 0, 65536 * 8));
    count_values<<<2048, BLOCK>>>(raster, cells, counts);
    std::vector<unsigned long long> host(65536);
    CHECK(cudaMemcpy(host.data(), counts, 65536 * 8, cudaMemcpyDeviceToHost));
    Steps steps;
    unsigned long long below = 0;
    for (int value = 0, step = 0; value < 65536 && step < 7; value++) {
        below += host[value];
        while (step < 7 && below * 8 > cells * (step + 1)) steps.at[step++] = (short)(value - 32768);
    }
    Tree tree;
    tree.build(raster, width, height, 0, 0, steps);
    row("ccq_tile", (uint64_t)SIDE * SIDE, tree.count(), [&] { tree.build(raster, width, height, 0, 0, steps); });
    uint64_t nodes = 0;
    auto each_tile = [&](const std::function<void()> &then) {
        for (uint32_t row = 0; row < height; row += SIDE)
            for (uint32_t column = 0; column < width; column += SIDE) {
                tree.build(raster, width, height, column, row, steps);
                then();
            }
    };
    each_tile([&] { nodes += tree.count(); });
    row("ccq_tiles_one_by_one", cells, nodes, [&] { each_tile([] {}); });
    return 0;
}
