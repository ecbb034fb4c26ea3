// The kernels of Wang, Wang, Zhao and Lu (2015, doi:10.11772/j.issn.1001-9081.2015.06.1564), written after the paper's
// description: the nearest of N sites for each cell of QTM level 9, in single precision. Sites come from global memory, by tiles from
// shared memory, or from constant memory, 64 KB of it in each launch; with these a thread has 1 cell (`constant`) or several in registers
// (`registers_2` to `registers_16`). For the six numbers of sites of the paper's Table 1. Built by
//   nvcc -O3 -arch=native -o sphere_shared sphere_shared.cu
// Prints tab-separated rows as sphere_bench does, the number of sites behind the kernel's name. Sites are uniform and random; the nearest site of a sample of cells
// is compared with that in double precision.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t e = (call);                                                         \
        if (e != cudaSuccess) {                                                         \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));                  \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

constexpr int BLOCK = 256, LEVEL = 9, RUNS = 20;

struct Vec {
    double x, y, z;
};

static Vec middle(Vec a, Vec b) {
    Vec s{a.x + b.x, a.y + b.y, a.z + b.z};
    double r = 1 / std::sqrt(s.x * s.x + s.y * s.y + s.z * s.z);
    return {s.x * r, s.y * r, s.z * r};
}

// The centres of a triangle's descendants, in the order of their ids: middle, then the corners.
static void centres(Vec a, Vec b, Vec c, int level, std::vector<float4> &out) {
    if (level == 0) {
        Vec s{a.x + b.x + c.x, a.y + b.y + c.y, a.z + b.z + c.z};
        double r = 1 / std::sqrt(s.x * s.x + s.y * s.y + s.z * s.z);
        out.push_back({float(s.x * r), float(s.y * r), float(s.z * r), 0});
        return;
    }
    Vec bc = middle(b, c), ca = middle(c, a), ab = middle(a, b);
    centres(bc, ca, ab, level - 1, out);
    centres(a, ab, ca, level - 1, out);
    centres(ab, b, bc, level - 1, out);
    centres(ca, bc, c, level - 1, out);
}

// The greater the scalar product, the nearer: the paper's great-circle distance without its arc cosine.
__device__ float nearness(float4 p, float4 s) { return p.x * s.x + p.y * s.y + p.z * s.z; }

__global__ void global(const float4 *cells, const float4 *sites, int n, int *best) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 p = cells[i];
    float most = -2;
    int at = 0;
    for (int j = 0; j < n; j++) {
        float d = nearness(p, sites[j]);
        if (d > most) most = d, at = j;
    }
    best[i] = at;
}

__global__ void shared(const float4 *cells, const float4 *sites, int n, int *best) {
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 p = cells[i];
    float most = -2;
    int at = 0;
    for (int start = 0; start < n; start += BLOCK) {
        __syncthreads();
        if (start + threadIdx.x < n) tile[threadIdx.x] = sites[start + threadIdx.x];
        __syncthreads();
        int end = min(BLOCK, n - start);
        for (int j = 0; j < end; j++) {
            float d = nearness(p, tile[j]);
            if (d > most) most = d, at = start + j;
        }
    }
    best[i] = at;
}

// What 64 KB hold.
constexpr int PART = 4096;
__constant__ float4 part[PART];

// The best so far of NUM cells a thread, after the sites of a part.
template <int NUM>
__global__ void from_constant(const float4 *cells, int first, int count, float *most, int *best) {
    int i = (blockIdx.x * BLOCK + threadIdx.x) * NUM;
    float4 p[NUM];
    float m[NUM];
    int at[NUM];
    for (int k = 0; k < NUM; k++) {
        p[k] = cells[i + k];
        m[k] = first == 0 ? -2 : most[i + k];
        at[k] = first == 0 ? 0 : best[i + k];
    }
    for (int j = 0; j < count; j++) {
        float4 site = part[j];
        for (int k = 0; k < NUM; k++) {
            float d = nearness(p[k], site);
            if (d > m[k]) m[k] = d, at[k] = first + j;
        }
    }
    for (int k = 0; k < NUM; k++) {
        most[i + k] = m[k];
        best[i + k] = at[k];
    }
}

// Of as many launches as it takes parts, each after a copy to constant memory.
template <int NUM>
static void constant(const float4 *cells, const float4 *sites, int n, int *best, float *most, int count) {
    for (int first = 0; first < n; first += PART) {
        int some = std::min(PART, n - first);
        CHECK(cudaMemcpyToSymbolAsync(part, sites + first, some * sizeof(float4), 0, cudaMemcpyDeviceToDevice));
        from_constant<NUM><<<count / BLOCK / NUM, BLOCK>>>(cells, first, some, most, best);
    }
}

using Run = void (*)(const float4 *, const float4 *, int, int *, float *, int);

static void by_global(const float4 *cells, const float4 *sites, int n, int *best, float *, int count) {
    global<<<count / BLOCK, BLOCK>>>(cells, sites, n, best);
}

static void by_shared(const float4 *cells, const float4 *sites, int n, int *best, float *, int count) {
    shared<<<count / BLOCK, BLOCK>>>(cells, sites, n, best);
}

static void time(const char *name, Run run_once, const std::vector<float4> &cells, const std::vector<float4> &sites) {
    float4 *c, *s;
    float *m;
    int *b, n = int(sites.size());
    size_t count = cells.size();
    CHECK(cudaMalloc(&c, count * sizeof(float4)));
    CHECK(cudaMalloc(&s, n * sizeof(float4)));
    CHECK(cudaMalloc(&b, count * sizeof(int)));
    CHECK(cudaMalloc(&m, count * sizeof(float)));
    CHECK(cudaMemcpy(c, cells.data(), count * sizeof(float4), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(s, sites.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    std::vector<float> times;
    for (int run = 0; run <= RUNS; run++) {
        CHECK(cudaEventRecord(from));
        run_once(c, s, n, b, m, int(count));
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(to));
        CHECK(cudaEventSynchronize(to));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, from, to));
        if (run > 0) times.push_back(ms);
    }
    std::vector<int> best(count);
    CHECK(cudaMemcpy(best.data(), b, count * sizeof(int), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (size_t i = 0; i < count; i += count / 64) {
        auto d = [&](int j) {
            double x = double(cells[i].x) - sites[j].x, y = double(cells[i].y) - sites[j].y;
            double z = double(cells[i].z) - sites[j].z;
            return x * x + y * y + z * z;
        };
        int nearest = 0;
        for (int j = 1; j < n; j++) nearest = d(j) < d(nearest) ? j : nearest;
        wrong += nearest != best[i];
    }
    if (wrong) fprintf(stderr, "%s: %d of 64 cells are given to another site than in double precision\n", name, wrong);
    std::sort(times.begin(), times.end());
    printf("paper\tvoronoi_9_%s_%d\t%zu\t%d\t%.4f\t%.4f\t%.4f\n", name, n, count, n, times[RUNS / 2], times[0], times[RUNS - 1]);
    CHECK(cudaFree(c));
    CHECK(cudaFree(s));
    CHECK(cudaFree(b));
    CHECK(cudaFree(m));
}

int main() {
    std::vector<float4> cells, sites;
    const double X[4] = {1, 0, -1, 0}, Y[4] = {0, 1, 0, -1};
    for (int octant = 0; octant < 8; octant++) {
        int west = octant % 4, east = (octant + 1) % 4;
        Vec pole{0, 0, octant < 4 ? 1.0 : -1.0};
        centres(pole, {X[west], Y[west], 0}, {X[east], Y[east], 0}, LEVEL, cells);
    }
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> unit(-1, 1);
    for (int n : {100, 500, 1000, 5000, 10000, 50000}) {
        while (int(sites.size()) < n) {
            double z = unit(random), turn = M_PI * unit(random), r = std::sqrt(1 - z * z);
            sites.push_back({float(r * std::cos(turn)), float(r * std::sin(turn)), float(z), 0});
        }
        time("global", by_global, cells, sites);
        time("shared", by_shared, cells, sites);
        time("constant", constant<1>, cells, sites);
        time("registers_2", constant<2>, cells, sites);
        time("registers_4", constant<4>, cells, sites);
        time("registers_8", constant<8>, cells, sites);
        time("registers_16", constant<16>, cells, sites);
    }
    return 0;
}
