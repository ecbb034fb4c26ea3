// The kernels of Mei (2014, doi:10.1155/2014/171574), written after the paper's description: the naive
// one and the one with tiles in shared memory, in single precision, at power 2 and by powf. Built by
//   nvcc -O3 -arch=native -o idw_tiled idw_tiled.cu
// Prints tab-separated rows as idw_bench does. Data are uniform and random; the result of each kernel
// is compared with sums in double precision at a few targets.

#include <algorithm>
#include <cmath>
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

constexpr int BLOCK = 256;

struct Points {
    const float *x, *y, *z;
    int n;
};

template <bool SQUARE>
__device__ void add(float dx, float dy, float z, float half_power, float &sum, float &weights) {
    float d2 = dx * dx + dy * dy;
    float w = 1.0f / (SQUARE ? d2 : powf(d2, half_power));
    weights += w;
    sum += w * z;
}

template <bool SQUARE>
__global__ void naive(Points p, const float *qx, const float *qy, float *out, int m, float half_power) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= m) return;
    float x = qx[q], y = qy[q], sum = 0, weights = 0;
    for (int i = 0; i < p.n; i++) add<SQUARE>(p.x[i] - x, p.y[i] - y, p.z[i], half_power, sum, weights);
    out[q] = sum / weights;
}

template <bool SQUARE>
__global__ void tiled(Points p, const float *qx, const float *qy, float *out, int m, float half_power) {
    __shared__ float tx[BLOCK], ty[BLOCK], tz[BLOCK];
    int q = blockIdx.x * BLOCK + threadIdx.x;
    float x = q < m ? qx[q] : 0, y = q < m ? qy[q] : 0, sum = 0, weights = 0;
    for (int first = 0; first < p.n; first += BLOCK) {
        int i = first + threadIdx.x;
        __syncthreads();
        if (i < p.n) {
            tx[threadIdx.x] = p.x[i];
            ty[threadIdx.x] = p.y[i];
            tz[threadIdx.x] = p.z[i];
        }
        __syncthreads();
        int count = min(BLOCK, p.n - first);
        for (int k = 0; k < count; k++) add<SQUARE>(tx[k] - x, ty[k] - y, tz[k], half_power, sum, weights);
    }
    if (q < m) out[q] = sum / weights;
}

using Kernel = void (*)(Points, const float *, const float *, float *, int, float);

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

static void bench(const char *name, Kernel kernel, float power, int n, int m) {
    auto x = uniform(n, 1, 1, 0), y = uniform(n, 2, 1, 0), z = uniform(n, 3, 100, 10);
    auto qx = uniform(m, 4, 1, 0), qy = uniform(m, 5, 1, 0);
    Points p{on_device(x), on_device(y), on_device(z), n};
    float *dx = on_device(qx), *dy = on_device(qy), *out = on_device(qx);
    int blocks = (m + BLOCK - 1) / BLOCK;
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    int runs = n > 100000 ? 3 : 20;
    for (int run = 0; run <= runs; run++) {
        CHECK(cudaEventRecord(start));
        kernel<<<blocks, BLOCK>>>(p, dx, dy, out, m, power / 2);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        if (run > 0) times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    std::vector<float> found(m);
    CHECK(cudaMemcpy(found.data(), out, m * sizeof(float), cudaMemcpyDeviceToHost));
    double worst = 0;
    for (int q = 0; q < m; q += m / 16) {
        double sum = 0, weights = 0;
        for (int i = 0; i < n; i++) {
            double ex = (double)x[i] - qx[q], ey = (double)y[i] - qy[q];
            double w = power == 2 ? 1 / (ex * ex + ey * ey) : pow(ex * ex + ey * ey, -power / 2.0);
            sum += w * z[i];
            weights += w;
        }
        worst = std::max(worst, std::fabs(found[q] * weights / sum - 1));
    }
    fprintf(stderr, "%s: relative error at most %.1e\n", name, worst);
    printf("paper\t%s\t%d\t%d\t%.4f\t%.4f\t%.4f\n", name, n, m, times[runs / 2], times[0], times[runs - 1]);
    for (const float *f : {p.x, p.y, p.z, (const float *)dx, (const float *)dy, (const float *)out})
        CHECK(cudaFree((void *)f));
}

int main() {
    const int million = 1 << 20;
    bench("naive_p2", naive<true>, 2, million, million);
    bench("tiled_p2", tiled<true>, 2, million, million);
    bench("tiled_p3", tiled<false>, 3, million, million);
    bench("tiled_p2_10K", tiled<true>, 2, 10240, 10240);
    bench("tiled_p3_10K", tiled<false>, 3, 10240, 10240);
    return 0;
}
