// The builds of Gluck, *Fast GPGPU Based Quadtree Construction* (2014), written after the thesis's description: level by level the points
// of each node above the threshold go into its quadrants. Three ways:
//   threads  a thread has a node, at every level (Kelly and Breslow, which the thesis starts from: its section 4.2.1)
//   blocks   a block has a node: tag and count, reduce, offset, scatter (4.2.1)
//   hybrid   blocks, and threads from the level on at which no node has more than a number of points (4.2.2)
// After each level the host reads how many nodes have more points than the threshold; these alone go on (4.2.3). Built by
//   nvcc -O3 -std=c++17 -arch=native -o quadtree_levels quadtree_levels.cu
// quadtree_levels [POINTS]: the most points, 80,000,000 without. Prints tab-separated rows as quadtree_bench does: Figure 9 (threads of a
// block), the switch from blocks to threads, and Figure 10 (thresholds). The number of nodes is compared with a build on the host where
// there are at most 1,000,000 points.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include <cub/cub.cuh>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t e = (call);                                                         \
        if (e != cudaSuccess) {                                                         \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));                  \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

// As in the thesis.
constexpr int BLOCKS = 1000, DEEPEST = 16;

// A cell by its middle and half its side, and its points.
struct Node {
    float x, y, half;
    int start, count;
};

__host__ __device__ int quadrant(float2 p, const Node &n) { return (p.x >= n.x) + 2 * (p.y >= n.y); }

// The children of a node, and which of them go on.
__host__ __device__ void divide(const Node &n, const int counts[4], int threshold, Node *children, int *goes_on) {
    int start = n.start;
    for (int q = 0; q < 4; q++) {
        float half = n.half / 2;
        children[q] = {n.x + (q & 1 ? half : -half), n.y + (q & 2 ? half : -half), half, start, counts[q]};
        goes_on[q] = counts[q] > threshold;
        start += counts[q];
    }
}

struct Level {
    const Node *nodes;
    int count;
    Node *children;
    int *goes_on;
    // Children with points.
    unsigned long long *nodes_made;
    // Whether a child has more points than the switch.
    int *is_large;
    int threshold, change;
};

__device__ void finish(const Level &l, int i, const Node &n, const int counts[4]) {
    divide(n, counts, l.threshold, l.children + 4 * i, l.goes_on + 4 * i);
    int made = 0;
    bool large = false;
    for (int q = 0; q < 4; q++) made += counts[q] > 0, large |= counts[q] > l.change;
    atomicAdd(l.nodes_made, made);
    if (large) *l.is_large = 1;
}

__global__ void by_threads(Level l, float2 *points, float2 *other) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < l.count; i += gridDim.x * blockDim.x) {
        Node n = l.nodes[i];
        int counts[4] = {0, 0, 0, 0};
        for (int p = n.start; p < n.start + n.count; p++) counts[quadrant(points[p], n)]++;
        int at[4] = {n.start, n.start + counts[0], n.start + counts[0] + counts[1], n.start + n.count - counts[3]};
        for (int p = n.start; p < n.start + n.count; p++) other[at[quadrant(points[p], n)]++] = points[p];
        for (int p = n.start; p < n.start + n.count; p++) points[p] = other[p];
        finish(l, i, n, counts);
    }
}

template <int THREADS>
__global__ void by_blocks(Level l, float2 *points, float2 *other) {
    __shared__ int counts[4][THREADS], before[4][THREADS], totals[4];
    int me = threadIdx.x;
    for (int i = blockIdx.x; i < l.count; i += gridDim.x) {
        Node n = l.nodes[i];
        int own[4] = {0, 0, 0, 0};
        for (int p = n.start + me; p < n.start + n.count; p += THREADS) own[quadrant(points[p], n)]++;
        for (int q = 0; q < 4; q++) counts[q][me] = before[q][me] = own[q];
        // The totals by a tree.
        for (int half = THREADS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (me < half) {
                for (int q = 0; q < 4; q++) counts[q][me] += counts[q][me + half];
            }
        }
        __syncthreads();
        // Four threads give each thread its place in a quadrant.
        if (me < 4) {
            totals[me] = counts[me][0];
            int sum = 0;
            for (int t = 0; t < THREADS; t++) {
                int some = before[me][t];
                before[me][t] = sum;
                sum += some;
            }
        }
        __syncthreads();
        int at[4], start = n.start;
        for (int q = 0; q < 4; q++) at[q] = start + before[q][me], start += totals[q];
        for (int p = n.start + me; p < n.start + n.count; p += THREADS) other[at[quadrant(points[p], n)]++] = points[p];
        __syncthreads();
        for (int p = n.start + me; p < n.start + n.count; p += THREADS) points[p] = other[p];
        if (me == 0) finish(l, i, n, totals);
        __syncthreads();
    }
}

// The children that go on, in order.
__global__ void keep(const Node *children, const int *goes_on, const int *places, Node *nodes, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && goes_on[i]) nodes[places[i]] = children[i];
}

using Blocks = void (*)(Level, float2 *, float2 *);

struct Way {
    std::string name;
    // None where threads have the nodes from the root on.
    Blocks blocks;
    int threads, threshold, change;
};

struct Build {
    int n;
    float2 *given, *points, *other;
    std::vector<float2> host;
};

template <typename T>
static T *room(size_t count) {
    T *p;
    CHECK(cudaMallocAsync(&p, count * sizeof(T), 0));
    return p;
}

static void release(std::initializer_list<void *> arrays) {
    for (void *p : arrays) CHECK(cudaFreeAsync(p, 0));
}

// Builds; gives how many nodes have points.
static long long build(const Build &b, const Way &w) {
    auto made = room<unsigned long long>(1);
    auto is_large = room<int>(1);
    CHECK(cudaMemset(made, 0, sizeof *made));
    Node root{0.5f, 0.5f, 0.5f, 0, b.n};
    auto nodes = room<Node>(1);
    CHECK(cudaMemcpy(nodes, &root, sizeof root, cudaMemcpyHostToDevice));
    int count = b.n > w.threshold, large = 1;
    for (int level = 0; level < DEEPEST && count > 0; level++) {
        auto children = room<Node>(4 * size_t(count));
        auto goes_on = room<int>(4 * size_t(count)), places = room<int>(4 * size_t(count));
        CHECK(cudaMemset(is_large, 0, sizeof *is_large));
        Level l{nodes, count, children, goes_on, made, is_large, w.threshold, w.change};
        if (w.blocks && large) w.blocks<<<BLOCKS, w.threads>>>(l, b.points, b.other);
        else by_threads<<<BLOCKS, 128>>>(l, b.points, b.other);
        CHECK(cudaGetLastError());
        size_t bytes = 0;
        CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, goes_on, places, 4 * count));
        auto scratch = room<char>(bytes);
        CHECK(cub::DeviceScan::ExclusiveSum(scratch, bytes, goes_on, places, 4 * count));
        int last[2];
        CHECK(cudaMemcpy(&last[0], goes_on + 4 * size_t(count) - 1, sizeof(int), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&last[1], places + 4 * size_t(count) - 1, sizeof(int), cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(&large, is_large, sizeof(int), cudaMemcpyDeviceToHost));
        int next = last[0] + last[1];
        // The children stay: they are the tree. Here only their memory is given back.
        auto following = room<Node>(std::max(next, 1));
        keep<<<(4 * count + 255) / 256, 256>>>(children, goes_on, places, following, 4 * count);
        CHECK(cudaGetLastError());
        release({nodes, children, goes_on, places, scratch});
        nodes = following;
        count = next;
    }
    unsigned long long all;
    CHECK(cudaMemcpy(&all, made, sizeof all, cudaMemcpyDeviceToHost));
    release({nodes, made, is_large});
    return 1 + (long long)all;
}

static long long nodes_on_host(std::vector<float2> &points, Node n, int threshold, int level) {
    if (n.count <= threshold || level == DEEPEST) return 1;
    auto begin = points.begin() + n.start;
    int counts[4] = {0, 0, 0, 0};
    for (int p = 0; p < n.count; p++) counts[quadrant(begin[p], n)]++;
    std::stable_sort(begin, begin + n.count, [&](float2 a, float2 b) { return quadrant(a, n) < quadrant(b, n); });
    Node children[4];
    int goes_on[4];
    divide(n, counts, threshold, children, goes_on);
    long long nodes = 1;
    for (auto &child : children) nodes += child.count ? nodes_on_host(points, child, threshold, level + 1) : 0;
    return nodes;
}

static void bench(Build &b, const Way &w) {
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    long long nodes = 0;
    // The fewer threads have all points at the top, the longer it takes.
    int runs = !w.blocks || w.threads <= 16 ? 1 : b.n > 1000000 ? 3 : 10;
    for (int run = 0; run <= runs; run++) {
        CHECK(cudaMemcpy(b.points, b.given, b.n * sizeof(float2), cudaMemcpyDeviceToDevice));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventRecord(start));
        nodes = build(b, w);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        if (run > 0) times.push_back(ms);
    }
    if (b.n <= 1000000) {
        auto points = b.host;
        long long wanted = nodes_on_host(points, {0.5f, 0.5f, 0.5f, 0, b.n}, w.threshold, 0);
        if (nodes != wanted) {
            fprintf(stderr, "%s: %lld nodes, not %lld\n", w.name.c_str(), nodes, wanted);
            exit(1);
        }
    }
    std::sort(times.begin(), times.end());
    printf("thesis\t%s\t%d\t%lld\t%.4f\t%.4f\t%.4f\n", w.name.c_str(), b.n, nodes, times[runs / 2], times[0], times[runs - 1]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int most = argc > 1 ? atoi(argv[1]) : 80000000;
    // Memory that was given back is kept for the next run, so that allocating costs little.
    cudaMemPool_t pool;
    uint64_t all = ~0ull;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    for (int n : {100000, 1000000, 10000000, 80000000}) {
        if (n > most) break;
        Build b{n, room<float2>(n), room<float2>(n), room<float2>(n), std::vector<float2>(n)};
        std::mt19937 random(1);
        for (auto &p : b.host) p = {float(random() >> 8) / (1 << 24), float(random() >> 8) / (1 << 24)};
        CHECK(cudaMemcpy(b.given, b.host.data(), n * sizeof(float2), cudaMemcpyHostToDevice));
        // A warp's lock-step is not counted on: blocks of fewer than 32 threads waste lanes, as in Figure 9.
        const int never = 1 << 30;
        if (n <= 10000000) {
            bench(b, {"hybrid_4", by_blocks<4>, 4, 20, 160});
            bench(b, {"hybrid_8", by_blocks<8>, 8, 20, 160});
            bench(b, {"hybrid_16", by_blocks<16>, 16, 20, 160});
        }
        bench(b, {"hybrid_32", by_blocks<32>, 32, 20, 160});
        bench(b, {"hybrid_64", by_blocks<64>, 64, 20, 160});
        bench(b, {"hybrid_128", by_blocks<128>, 128, 20, 160});
        bench(b, {"blocks_128", by_blocks<128>, 128, 20, 0});
        bench(b, {"switch_40", by_blocks<128>, 128, 20, 40});
        bench(b, {"switch_1024", by_blocks<128>, 128, 20, 1024});
        bench(b, {"switch_16384", by_blocks<128>, 128, 20, 16384});
        bench(b, {"threshold_200", by_blocks<128>, 128, 200, 1600});
        bench(b, {"threshold_2000", by_blocks<128>, 128, 2000, 16000});
        if (n <= 1000000) bench(b, {"threads", nullptr, 128, 20, never});
        release({b.given, b.points, b.other});
    }
    return 0;
}
