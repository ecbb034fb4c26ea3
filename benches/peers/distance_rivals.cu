// Distance transforms and Voronoi diagrams of rasters on the card by PBA+ (Cao, Tang, Mohamed and Tan 2010,
// doi:10.1145/1730804.1730818, and its authors' code of 2019) and by NVIDIA's NPP, for the rows that `gpu_bench voronoi` prints:
// the same masks, resident as each library wants them.
//
// PBA+ is fetched, not kept here; NPP comes with the toolkit, or as the wheel nvidia-npp:
//
//   git clone https://github.com/orzzzjq/Parallel-Banding-Algorithm-plus pba
//   nvcc -O3 -std=c++17 -arch=native -I pba/pba-plus-2D/pba benches/peers/distance_rivals.cu -o distance_rivals -lnppif -lnppc
//   ./distance_rivals
//
// PBA+ wants pixels of two 16-bit coordinates, and writes over them: they are restored before each run, untimed. It runs with
// each number of bands that its phases take, and the row is of the fastest; a line that begins with # names it. NPP wants bytes.
//
// A row: library, name, pixels, sites, and the median, least and greatest of 10 runs in ms between events, after two to warm
// up. A thousand pixels are compared with a search of the mask on the host.
#include <pba2DHost.cu>

#include <nppi_filtering_functions.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(call)                                                                    \
    do {                                                                               \
        int status = int(call);                                                        \
        if (status != 0) {                                                             \
            fprintf(stderr, "%s: error %d\n", #call, status);                          \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

constexpr int RUNS = 10;

struct Mask {
    int side;
    size_t sites;
    std::vector<uint8_t> bytes;
    std::string percent;

    size_t pixels() const { return bytes.size(); }
};

// As gpu_bench makes it: xorshift64* (Vigna 2016, doi:10.1145/2845077).
static Mask random_mask(int side, double density, const char *percent) {
    Mask mask{side, 0, std::vector<uint8_t>(size_t(side) * side), percent};
    uint64_t state = 42;
    for (auto &byte : mask.bytes) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        byte = double((state * 0x2545f4914f6cdd1dull) >> 11) / double(1ull << 53) < density;
        mask.sites += byte;
    }
    return mask;
}

// The squared distance of a pixel's nearest site: rows further and further away, as long as one can be nearer.
static int64_t nearest(const Mask &mask, int x, int y) {
    int64_t least = INT64_MAX;
    for (int64_t away = 0; away < mask.side && away * away < least; away++) {
        for (int64_t row : {y - away, y + away}) {
            if (row < 0 || row >= mask.side) continue;
            const uint8_t *bytes = &mask.bytes[row * mask.side];
            for (int64_t dx = 0; dx < mask.side && dx * dx + away * away < least; dx++) {
                bool is_site = (x >= dx && bytes[x - dx]) || (x + dx < mask.side && bytes[x + dx]);
                if (is_site) least = dx * dx + away * away;
            }
        }
    }
    return least;
}

// Compares a thousand pixels; `squared` gives what was found at a pixel.
template <class Found>
static void compare(const Mask &mask, const char *library, Found squared) {
    int wrong = 0;
    for (size_t i = 0; i < 1000; i++) {
        size_t at = i * 0x9e3779b97f4a7c15ull % mask.pixels();
        double right = double(nearest(mask, int(at % mask.side), int(at / mask.side)));
        wrong += std::abs(std::sqrt(squared(at)) - std::sqrt(right)) > 1e-3;
    }
    if (wrong > 0) printf("# %s: %d of 1000 pixels have another distance\n", library, wrong);
}

template <class Restore, class Work>
static std::vector<float> times_of(int runs, Restore restore, Work work) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int run = 0; run < runs + 2; run++) {
        restore();
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventRecord(begin));
        work();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaGetLastError());
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (run > 1) times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return times;
}

static void print_row(const char *library, const char *what, const Mask &mask, const std::vector<float> &times) {
    printf("%s\tvoronoi_%d_%s_%s\t%zu\t%zu\t%.5f\t%.5f\t%.5f\n", library, mask.side, mask.percent.c_str(), what,
           mask.pixels(), mask.sites, times[times.size() / 2], times.front(), times.back());
    fflush(stdout);
}

// A site knows its own coordinates; other pixels have none.
static std::vector<short2> coordinates(const Mask &mask) {
    std::vector<short2> pixels(mask.pixels(), make_short2(MARKER, MARKER));
    for (size_t i = 0; i < pixels.size(); i++) {
        if (mask.bytes[i]) pixels[i] = make_short2(short(i % mask.side), short(i / mask.side));
    }
    return pixels;
}

static double squared_of(short2 site, size_t at, int side) {
    double dx = double(site.x) - double(at % side), dy = double(site.y) - double(at / side);
    return dx * dx + dy * dy;
}

// Each phase has a number of bands of its own, and they are independent of each other: one is varied at a time.
static void pba(const Mask &mask) {
    const int most = std::min(mask.side / 64, 256);
    pba2DInitialization(mask.side, most);
    std::vector<short2> pixels = coordinates(mask);
    short2 *input;
    CHECK(cudaMalloc(&input, pixels.size() * sizeof(short2)));
    CHECK(cudaMemcpy(input, pixels.data(), pixels.size() * sizeof(short2), cudaMemcpyHostToDevice));
    auto restore = [&] { CHECK(cudaMemcpy(pbaTextures[0], input, pbaMemSize, cudaMemcpyDeviceToDevice)); };
    int bands[3] = {std::min(32, most), 32, 2};
    auto work = [&] { pba2DCompute(bands[0], bands[1], bands[2]); };
    const int largest[3] = {most, 512, 16};
    for (int phase = 0; phase < 3; phase++) {
        int best = bands[phase];
        float least = INFINITY;
        for (int count = 1; count <= largest[phase]; count *= 2) {
            bands[phase] = count;
            float ms = times_of(3, restore, work)[1];
            if (ms < least) least = ms, best = count;
        }
        bands[phase] = best;
    }
    auto times = times_of(RUNS, restore, work);
    CHECK(cudaMemcpy(pixels.data(), pbaTextures[1], pbaMemSize, cudaMemcpyDeviceToHost));
    compare(mask, "pba+", [&](size_t at) { return squared_of(pixels[at], at, mask.side); });
    printf("# pba+: %d, %d, %d bands\n", bands[0], bands[1], bands[2]);
    print_row("pba+", "indices", mask, times);
    CHECK(cudaFree(input));
    pba2DDeinitialization();
}

// NPP's context of the stream that events are recorded on, which is the one without a name.
static NppStreamContext stream_context() {
    NppStreamContext context{};
    cudaDeviceProp of;
    CHECK(cudaGetDeviceProperties(&of, 0));
    context.nMultiProcessorCount = of.multiProcessorCount;
    context.nMaxThreadsPerMultiProcessor = of.maxThreadsPerMultiProcessor;
    context.nMaxThreadsPerBlock = of.maxThreadsPerBlock;
    context.nSharedMemPerBlock = of.sharedMemPerBlock;
    context.nCudaDevAttrComputeCapabilityMajor = of.major;
    context.nCudaDevAttrComputeCapabilityMinor = of.minor;
    return context;
}

static void npp(const Mask &mask) {
    const NppiSize size{mask.side, mask.side};
    const int row = mask.side;
    size_t scratch_bytes = 0;
    CHECK(nppiDistanceTransformPBAGetBufferSize(size, &scratch_bytes));
    uint8_t *bytes, *scratch;
    int16_t *sites;
    float *distances;
    CHECK(cudaMalloc(&bytes, mask.pixels()));
    CHECK(cudaMalloc(&scratch, scratch_bytes));
    CHECK(cudaMalloc(&sites, mask.pixels() * 4));
    CHECK(cudaMalloc(&distances, mask.pixels() * 4));
    CHECK(cudaMemcpy(bytes, mask.bytes.data(), mask.pixels(), cudaMemcpyHostToDevice));
    const NppStreamContext context = stream_context();
    auto transform = [&](int16_t *to_sites, float *to_distances) {
        return nppiDistanceTransformPBA_8u32f_C1R_Ctx(bytes, row, 1, 1, to_sites, row * 4, nullptr, 0, nullptr, 0, to_distances,
                                                      row * 4, size, scratch, context);
    };
    auto nothing = [] {};
    auto times = times_of(RUNS, nothing, [&] { CHECK(transform(sites, nullptr)); });
    std::vector<short2> found(mask.pixels());
    CHECK(cudaMemcpy(found.data(), sites, mask.pixels() * 4, cudaMemcpyDeviceToHost));
    compare(mask, "npp, sites", [&](size_t at) { return squared_of(found[at], at, mask.side); });
    print_row("npp", "indices", mask, times);

    times = times_of(RUNS, nothing, [&] { CHECK(transform(nullptr, distances)); });
    std::vector<float> of(mask.pixels());
    CHECK(cudaMemcpy(of.data(), distances, mask.pixels() * 4, cudaMemcpyDeviceToHost));
    compare(mask, "npp, distances", [&](size_t at) { return double(of[at]) * of[at]; });
    print_row("npp", "distances", mask, times);
    CHECK(cudaFree(bytes));
    CHECK(cudaFree(scratch));
    CHECK(cudaFree(sites));
    CHECK(cudaFree(distances));
}

int main() {
    for (int side : {4096, 16384}) {
        for (auto [density, percent] : {std::pair(0.0001, "0.01%"), std::pair(0.01, "1%"), std::pair(0.25, "25%")}) {
            Mask mask = random_mask(side, density, percent);
            pba(mask);
            npp(mask);
        }
    }
}
