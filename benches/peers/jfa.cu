// Jump flooding (Rong and Tan 2006, doi:10.1145/1111411.1111431): the discrete Voronoi diagram that most programs on a GPU
// build on. Each pixel looks at eight others a step away and keeps the nearest site that they know; the step is halved from half
// of the side down to 1, and one more pass of 1 corrects some errors. It is not exact. Built by
//   nvcc -O3 -std=c++17 -arch=native -o jfa jfa.cu
// jfa [SIDE], 5000 without. Sites are random with the densities of `gpu_bench voronoi`. Prints tab-separated rows as gpu_bench does,
// and how many pixels have a site that is not their nearest, by an exact transform on the host.

#include <algorithm>
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

constexpr int RUNS = 10;
constexpr unsigned NONE = ~0u;

__host__ __device__ int squared(unsigned site, int x, int y) {
    int dx = int(site & 0xffff) - x, dy = int(site >> 16) - y;
    return dx * dx + dy * dy;
}

// A pixel knows itself where it is a site.
__global__ void seed(const unsigned char *mask, unsigned *known, int side) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < side && y < side) known[size_t(y) * side + x] = mask[size_t(y) * side + x] ? unsigned(y) << 16 | x : NONE;
}

__global__ void flood(const unsigned *known, unsigned *next, int side, int step) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= side || y >= side) return;
    unsigned best = NONE;
    int least = 0x7fffffff;
    for (int dy = -step; dy <= step; dy += step) {
        for (int dx = -step; dx <= step; dx += step) {
            int px = x + dx, py = y + dy;
            if (px < 0 || py < 0 || px >= side || py >= side) continue;
            unsigned site = known[size_t(py) * side + px];
            if (site == NONE) continue;
            int d = squared(site, x, y);
            if (d < least) least = d, best = site;
        }
    }
    next[size_t(y) * side + x] = best;
}

// The least squared distance of each pixel: down and up the columns, then along each row the lower envelope of parabolas
// (Felzenszwalb and Huttenlocher 2012, doi:10.4086/toc.2012.v008a019).
static std::vector<int> exact(const std::vector<unsigned char> &mask, int side) {
    const int far = 30000;
    std::vector<int> column(mask.size(), far), out(mask.size());
    for (int x = 0; x < side; x++) {
        for (int pass = 0; pass < 2; pass++) {
            int d = far;
            for (int i = 0; i < side; i++) {
                size_t at = size_t(pass ? side - 1 - i : i) * side + x;
                d = mask[at] ? 0 : std::min(far, d + 1);
                column[at] = std::min(column[at], d);
            }
        }
    }
    std::vector<int> apex(side);
    std::vector<double> from(side + 1);
    for (int y = 0; y < side; y++) {
        const int *d = &column[size_t(y) * side];
        int last = -1;
        for (int x = 0; x < side; x++) {
            if (d[x] == far) continue;
            double cut = -1e30;
            while (last >= 0) {
                int a = apex[last];
                cut = (double(x) * x + double(d[x]) * d[x] - double(a) * a - double(d[a]) * d[a]) / (2.0 * (x - a));
                if (cut > from[last]) break;
                last--;
                cut = -1e30;
            }
            last++;
            apex[last] = x;
            from[last] = cut;
        }
        for (int x = 0, k = 0; x < side; x++) {
            while (k < last && from[k + 1] < x) k++;
            int a = apex[k];
            out[size_t(y) * side + x] = last < 0 ? 0x7fffffff : (x - a) * (x - a) + d[a] * d[a];
        }
    }
    return out;
}

static void bench(int side, double density, const char *percent) {
    size_t pixels = size_t(side) * side;
    std::mt19937_64 random(42);
    std::uniform_real_distribution<double> unit(0, 1);
    std::vector<unsigned char> mask(pixels);
    long long sites = 0;
    for (auto &m : mask) sites += m = unit(random) < density;
    unsigned char *there;
    unsigned *known[2];
    CHECK(cudaMalloc(&there, pixels));
    for (auto &k : known) CHECK(cudaMalloc(&k, pixels * sizeof(unsigned)));
    CHECK(cudaMemcpy(there, mask.data(), pixels, cudaMemcpyHostToDevice));
    dim3 block(32, 8), grid((side + 31) / 32, (side + 7) / 8);
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    int at = 0;
    for (int run = 0; run < RUNS + 2; run++) {
        CHECK(cudaEventRecord(start));
        at = 0;
        seed<<<grid, block>>>(there, known[at], side);
        int first = 1;
        while (2 * first < side) first *= 2;
        for (int step = first; step > 0; step /= 2, at ^= 1) flood<<<grid, block>>>(known[at], known[at ^ 1], side, step);
        flood<<<grid, block>>>(known[at], known[at ^ 1], side, 1);
        at ^= 1;
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, start, end));
        if (run > 1) times.push_back(ms);
    }
    std::vector<unsigned> found(pixels);
    CHECK(cudaMemcpy(found.data(), known[at], pixels * sizeof(unsigned), cudaMemcpyDeviceToHost));
    auto least = exact(mask, side);
    long long wrong = 0;
    for (size_t i = 0; i < pixels; i++) {
        wrong += found[i] == NONE || squared(found[i], int(i % side), int(i / side)) != least[i];
    }
    std::sort(times.begin(), times.end());
    printf("# voronoi_%d_%s%%_jfa: %lld of %zu pixels are wrong\n", side, percent, wrong, pixels);
    printf("jfa\tvoronoi_%d_%s%%_jfa\t%zu\t%lld\t%.5f\t%.5f\t%.5f\n", side, percent, pixels, sites, times[RUNS / 2],
           times[0], times[RUNS - 1]);
    CHECK(cudaFree(there));
    for (auto k : known) CHECK(cudaFree(k));
}

int main(int argc, char **argv) {
    int side = argc > 1 ? atoi(argv[1]) : 5000;
    bench(side, 0.0001, "0.01");
    bench(side, 0.01, "1");
    bench(side, 0.25, "25");
    return 0;
}
