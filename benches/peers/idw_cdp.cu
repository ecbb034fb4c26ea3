// The version by dynamic parallelism of Mei (2014, doi:10.1155/2014/171574), written after the paper's description: a thread for
// each prediction launches a child grid with a thread for each data point, whose weights are added up. Beside it the naive
// kernel: Figure 8, and how much slower the one is than the other. Built by
//   nvcc -O3 -arch=native -rdc=true -o idw_cdp idw_cdp.cu
// idw_cdp [K]: all sizes up to K * 1024 points and as many predictions, 100 without.
//
// The paper waits for each child by cudaDeviceSynchronize() in the parent, which CUDA has had no more since version 12. What there
// is today:
//   cdp_ordered     the division stands behind the child in the stream of the parent's block: a wait for each prediction
//   cdp_tail        children are launched to be forgotten; one grid behind all of them divides: a wait for each parent grid
//   cdp_no_barrier  the parent's thread divides at once, as in the paper's version without the barrier: values are not complete
// A parent grid has 16,384 threads, so that its launches find room (cudaLimitDevRuntimePendingLaunchCount).
// Prints tab-separated rows as idw_bench does. Values are compared with sums in double precision at a few predictions.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t e = (call);                                                         \
        if (e != cudaSuccess) {                                                         \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));                  \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

constexpr int BLOCK = 256, PARENTS = 16384, RUNS = 3;

struct Points {
    const float *x, *y, *z;
    int n;
};

struct Predictions {
    const float *x, *y;
    float *out;
    // Sums of weights, and of weighted values.
    float2 *sums;
    int m;
    // Launches that failed.
    int *failed;
};

template <bool SQUARE>
__device__ float weight(float dx, float dy, float half_power) {
    float d2 = dx * dx + dy * dy;
    return 1.0f / (SQUARE ? d2 : powf(d2, half_power));
}

template <bool SQUARE>
__global__ void naive(Points p, Predictions t, int, float half_power) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= t.m) return;
    float x = t.x[q], y = t.y[q], sum = 0, weights = 0;
    for (int i = 0; i < p.n; i++) {
        float w = weight<SQUARE>(p.x[i] - x, p.y[i] - y, half_power);
        weights += w;
        sum += w * p.z[i];
    }
    t.out[q] = sum / weights;
}

// A thread a data point; the block's sums by a tree in shared memory.
template <bool SQUARE>
__global__ void child(Points p, float x, float y, float2 *sums, float half_power) {
    __shared__ float weights[BLOCK], values[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float w = i < p.n ? weight<SQUARE>(p.x[i] - x, p.y[i] - y, half_power) : 0;
    weights[threadIdx.x] = w;
    values[threadIdx.x] = i < p.n ? w * p.z[i] : 0;
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            weights[threadIdx.x] += weights[threadIdx.x + half];
            values[threadIdx.x] += values[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        atomicAdd(&sums->x, weights[0]);
        atomicAdd(&sums->y, values[0]);
    }
}

__global__ void divide(Predictions t, int first, int count) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q < count) t.out[first + q] = t.sums[first + q].y / t.sums[first + q].x;
}

__device__ void note(Predictions t) {
    if (cudaGetLastError() != cudaSuccess) atomicAdd(t.failed, 1);
}

template <bool SQUARE>
__global__ void ordered(Points p, Predictions t, int first, float half_power) {
    int q = first + blockIdx.x * BLOCK + threadIdx.x;
    if (q >= t.m) return;
    child<SQUARE><<<(p.n + BLOCK - 1) / BLOCK, BLOCK>>>(p, t.x[q], t.y[q], t.sums + q, half_power);
    note(t);
    divide<<<1, 1>>>(t, q, 1);
    note(t);
}

template <bool SQUARE>
__global__ void tail(Points p, Predictions t, int first, float half_power) {
    int q = first + blockIdx.x * BLOCK + threadIdx.x;
    if (q >= t.m) return;
    child<SQUARE><<<(p.n + BLOCK - 1) / BLOCK, BLOCK, 0, cudaStreamFireAndForget>>>(p, t.x[q], t.y[q], t.sums + q,
                                                                                     half_power);
    note(t);
    if (q == first) {
        int count = min(PARENTS, t.m - first);
        divide<<<(count + BLOCK - 1) / BLOCK, BLOCK, 0, cudaStreamTailLaunch>>>(t, first, count);
        note(t);
    }
}

template <bool SQUARE>
__global__ void no_barrier(Points p, Predictions t, int first, float half_power) {
    int q = first + blockIdx.x * BLOCK + threadIdx.x;
    if (q >= t.m) return;
    child<SQUARE><<<(p.n + BLOCK - 1) / BLOCK, BLOCK, 0, cudaStreamFireAndForget>>>(p, t.x[q], t.y[q], t.sums + q,
                                                                                     half_power);
    note(t);
    volatile float2 *sums = t.sums + q;
    t.out[q] = sums->y / sums->x;
}

using Kernel = void (*)(Points, Predictions, int, float);

static std::vector<float> uniform(int n, unsigned seed, float scale, float offset) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> unit(0, 1);
    std::vector<float> all(n);
    for (float &v : all) v = offset + scale * unit(random);
    return all;
}

static float *on_device(const std::vector<float> &host) {
    float *p;
    CHECK(cudaMalloc(&p, host.size() * sizeof(float)));
    CHECK(cudaMemcpy(p, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
    return p;
}

static void bench(const char *name, Kernel kernel, bool is_naive, float power, int n) {
    auto x = uniform(n, 1, 1, 0), y = uniform(n, 2, 1, 0), z = uniform(n, 3, 100, 10);
    auto qx = uniform(n, 4, 1, 0), qy = uniform(n, 5, 1, 0);
    Points p{on_device(x), on_device(y), on_device(z), n};
    Predictions t{on_device(qx), on_device(qy), on_device(qx), nullptr, n, nullptr};
    CHECK(cudaMalloc(&t.sums, n * sizeof(float2)));
    CHECK(cudaMalloc(&t.failed, sizeof(int)));
    CHECK(cudaMemset(t.failed, 0, sizeof(int)));
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int run = 0; run <= RUNS; run++) {
        CHECK(cudaMemset(t.sums, 0, n * sizeof(float2)));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventRecord(start));
        if (is_naive) {
            kernel<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(p, t, 0, power / 2);
        } else {
            for (int first = 0; first < n; first += PARENTS) {
                int count = std::min(PARENTS, n - first);
                kernel<<<(count + BLOCK - 1) / BLOCK, BLOCK>>>(p, t, first, power / 2);
            }
        }
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        if (run > 0) times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    std::vector<float> found(n);
    int failed;
    CHECK(cudaMemcpy(found.data(), t.out, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&failed, t.failed, sizeof(int), cudaMemcpyDeviceToHost));
    int wrong = 0, sample = 0;
    for (int q = 0; q < n; q += n / 64, sample++) {
        double sum = 0, weights = 0;
        for (int i = 0; i < n; i++) {
            double ex = (double)x[i] - qx[q], ey = (double)y[i] - qy[q];
            double w = power == 2 ? 1 / (ex * ex + ey * ey) : pow(ex * ex + ey * ey, -power / 2.0);
            sum += w * z[i];
            weights += w;
        }
        wrong += !(std::fabs(found[q] * weights / sum - 1) < 1e-2);
    }
    printf("# %s of %d: %d of %d values are wrong, %d launches failed\n", name, n, wrong, sample, failed);
    // A time without its work is none.
    if (!failed) printf("paper\t%s\t%d\t%d\t%.4f\t%.4f\t%.4f\n", name, n, n, times[RUNS / 2], times[0], times[RUNS - 1]);
    fflush(stdout);
    for (const float *f : {p.x, p.y, p.z, t.x, t.y, (const float *)t.out}) CHECK(cudaFree((void *)f));
    CHECK(cudaFree(t.sums));
    CHECK(cudaFree(t.failed));
}

int main(int argc, char **argv) {
    int most = argc > 1 ? atoi(argv[1]) : 100;
    CHECK(cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 2 * PARENTS + 1024));
    for (int k : {10, 50, 100, 500, 1000}) {
        if (k > most) break;
        int n = k * 1024;
        bench("naive_p2", naive<true>, true, 2, n);
        bench("cdp_ordered_p2", ordered<true>, false, 2, n);
        bench("cdp_tail_p2", tail<true>, false, 2, n);
        bench("cdp_no_barrier_p2", no_barrier<true>, false, 2, n);
        bench("naive_p3", naive<false>, true, 3, n);
        bench("cdp_ordered_p3", ordered<false>, false, 3, n);
        bench("cdp_tail_p3", tail<false>, false, 3, n);
        bench("cdp_no_barrier_p3", no_barrier<false>, false, 3, n);
    }
    return 0;
}
