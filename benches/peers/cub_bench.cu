// Times CUB's device-wide primitives, for comparison with gpu-scan.
//
//   nvcc -O3 -std=c++17 -arch=native cub_bench.cu -o cub_bench && ./cub_bench [FILTER]
//
// One tab-separated row each: library, name, elements, and the median, least and greatest time in
// ms. Data are resident and random from a fixed seed, the temporary storage is there before; 3 runs
// to warm up, then 20 between events of their own on one stream. Inputs that fit the L2 cache are
// in it. ../src/scan_bench.rs does the same with gpu-scan.

#include <cub/cub.cuh>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t error = (call);                                                      \
        if (error != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));          \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

static const char* filter = "";
static cudaStream_t stream;

// The finaliser of splitmix64 (Steele, Lea and Flood 2014, DOI 10.1145/2660193.2660195).
__host__ __device__ inline uint64_t mix(uint64_t i) {
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

template <class T> __host__ __device__ inline T random_element(uint64_t i) { return T(mix(i)); }
template <> __host__ __device__ inline float random_element<float>(uint64_t i) {
    return float(mix(i) >> 40) / 16777216.0f;
}
template <> __host__ __device__ inline double random_element<double>(uint64_t i) {
    return double(mix(i) >> 11) / 9007199254740992.0;
}

template <class T> __global__ void randomise(T* out, size_t n) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
         i += size_t(gridDim.x) * blockDim.x)
        out[i] = random_element<T>(i);
}

__global__ void mark_runs(uint32_t* out, size_t n, uint64_t mean) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
         i += size_t(gridDim.x) * blockDim.x)
        out[i] = mix(i) % mean == 0;
}

template <class T> struct Column {
    T* data = nullptr;
    explicit Column(size_t n) { CHECK(cudaMalloc(&data, n * sizeof(T))); }
    ~Column() { cudaFree(data); }
    Column(const Column&) = delete;
};

template <class T> struct Random : Column<T> {
    explicit Random(size_t n) : Column<T>(n) {
        randomise<<<2048, 256>>>(this->data, n);
        CHECK(cudaDeviceSynchronize());
    }
};

// Equal keys in runs: an element begins one with probability 1 / mean.
struct Runs : Column<uint32_t> {
    Runs(size_t n, uint64_t mean) : Column<uint32_t>(n) {
        Column<uint32_t> marks(n);
        mark_runs<<<2048, 256>>>(marks.data, n, mean);
        size_t bytes = 0;
        CHECK(cub::DeviceScan::InclusiveSum(nullptr, bytes, marks.data, data, n));
        Column<char> storage(bytes);
        CHECK(cub::DeviceScan::InclusiveSum(storage.data, bytes, marks.data, data, n));
        CHECK(cudaDeviceSynchronize());
    }
};

// `call(storage, bytes)` is a CUB function with everything else bound.
template <class Call> void row(const std::string& name, size_t n, Call call) {
    size_t bytes = 0;
    CHECK(call(nullptr, bytes));
    Column<char> storage(std::max<size_t>(bytes, 1));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    std::vector<float> times;
    for (int run = -3; run < 20; ++run) {
        CHECK(cudaEventRecord(begin, stream));
        CHECK(call(storage.data, bytes));
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaEventSynchronize(end));
        float time = 0;
        CHECK(cudaEventElapsedTime(&time, begin, end));
        if (run >= 0) times.push_back(time);
    }
    std::sort(times.begin(), times.end());
    std::printf("cub\t%s\t%zu\t%.5f\t%.5f\t%.5f\n", name.c_str(), n, times[10], times[0], times[19]);
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
}

static bool wants(const std::string& name) { return name.find(filter) != std::string::npos; }

struct Less {
    template <class T> __host__ __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
struct Greater {
    template <class T> __host__ __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
struct IsLow {
    __host__ __device__ bool operator()(uint32_t x) const { return x < 0x80000000u; }
};

template <class T> void sum(const std::string& name, size_t n) {
    if (!wants(name)) return;
    Random<T> in(n);
    Column<T> out(1);
    row(name, n, [&](void* s, size_t& b) {
        return cub::DeviceReduce::Sum(s, b, in.data, out.data, n, stream);
    });
}

template <class T> void scan(const std::string& name, size_t n) {
    if (!wants(name)) return;
    Random<T> in(n);
    Column<T> out(n);
    row(name, n, [&](void* s, size_t& b) {
        return cub::DeviceScan::InclusiveSum(s, b, in.data, out.data, n, stream);
    });
}

void reductions(size_t n) {
    sum<uint32_t>("reduce_sum_u32", n);
    sum<float>("reduce_sum_f32", n);
    sum<uint64_t>("reduce_sum_u64", n);
    sum<double>("reduce_sum_f64", n);
    if (wants("reduce_min_f32")) {
        Random<float> in(n);
        Column<float> out(1);
        row("reduce_min_f32", n, [&](void* s, size_t& b) {
            return cub::DeviceReduce::Reduce(s, b, in.data, out.data, n, Less{}, 3e38f, stream);
        });
    }
}

void scans(size_t n) {
    scan<uint8_t>("scan_inclusive_sum_u8", n);
    scan<uint16_t>("scan_inclusive_sum_u16", n);
    scan<uint32_t>("scan_inclusive_sum_u32", n);
    scan<float>("scan_inclusive_sum_f32", n);
    scan<uint64_t>("scan_inclusive_sum_u64", n);
    scan<double>("scan_inclusive_sum_f64", n);
    if (wants("scan_exclusive_sum_u32") || wants("scan_inclusive_max_u32")) {
        Random<uint32_t> in(n);
        Column<uint32_t> out(n);
        row("scan_exclusive_sum_u32", n, [&](void* s, size_t& b) {
            return cub::DeviceScan::ExclusiveSum(s, b, in.data, out.data, n, stream);
        });
        row("scan_inclusive_max_u32", n, [&](void* s, size_t& b) {
            return cub::DeviceScan::InclusiveScan(s, b, in.data, out.data, Greater{}, n, stream);
        });
    }
    if (wants("scan_by_key_sum_u32")) {
        Runs keys(n, 50);
        Random<uint32_t> in(n);
        Column<uint32_t> out(n);
        row("scan_by_key_sum_u32", n, [&](void* s, size_t& b) {
            return cub::DeviceScan::InclusiveSumByKey(
                s, b, keys.data, in.data, out.data, n, ::cuda::std::equal_to<>{}, stream);
        });
    }
}

void selections(size_t n) {
    Column<uint64_t> count(1);
    if (wants("select_if_u32") || wants("select_flagged_u32") || wants("partition_u32")) {
        Random<uint32_t> in(n);
        Random<uint8_t> bytes(n);
        Column<uint32_t> out(n);
        if (wants("select_if_u32"))
            row("select_if_u32", n, [&](void* s, size_t& b) {
                return cub::DeviceSelect::If(s, b, in.data, out.data, count.data, n, IsLow{}, stream);
            });
        if (wants("partition_u32"))
            row("partition_u32", n, [&](void* s, size_t& b) {
                return cub::DevicePartition::If(
                    s, b, in.data, out.data, count.data, n, IsLow{}, stream);
            });
        if (wants("select_flagged_u32")) {
            std::vector<uint8_t> flags(n);
            for (size_t i = 0; i < n; ++i) flags[i] = uint8_t(mix(i) >> 20 & 1);
            CHECK(cudaMemcpy(bytes.data, flags.data(), n, cudaMemcpyHostToDevice));
            row("select_flagged_u32", n, [&](void* s, size_t& b) {
                return cub::DeviceSelect::Flagged(
                    s, b, in.data, bytes.data, out.data, count.data, n, stream);
            });
        }
    }
    for (uint64_t mean : {2, 50}) {
        std::string suffix = "_mean" + std::to_string(mean);
        if (!wants("unique_u32" + suffix) && !wants("rle_u32" + suffix) &&
            !wants("reduce_by_key_u32" + suffix))
            continue;
        Runs keys(n, mean);
        Random<uint32_t> values(n);
        Column<uint32_t> keys_out(n), totals(n);
        if (wants("unique_u32" + suffix))
            row("unique_u32" + suffix, n, [&](void* s, size_t& b) {
                return cub::DeviceSelect::Unique(
                    s, b, keys.data, keys_out.data, count.data, n, stream);
            });
        if (wants("rle_u32" + suffix))
            row("rle_u32" + suffix, n, [&](void* s, size_t& b) {
                return cub::DeviceRunLengthEncode::Encode(
                    s, b, keys.data, keys_out.data, totals.data, count.data, n, stream);
            });
        if (wants("reduce_by_key_u32" + suffix))
            row("reduce_by_key_u32" + suffix, n, [&](void* s, size_t& b) {
                return cub::DeviceReduce::ReduceByKey(
                    s, b, keys.data, keys_out.data, values.data, totals.data, count.data,
                    ::cuda::std::plus<>{}, n, stream);
            });
    }
}

template <class K> void sort_keys(const std::string& name, size_t n) {
    if (!wants(name)) return;
    Random<K> in(n);
    Column<K> out(n);
    row(name, n, [&](void* s, size_t& b) {
        return cub::DeviceRadixSort::SortKeys(
            s, b, in.data, out.data, n, 0, int(sizeof(K) * 8), stream);
    });
}

template <class K> void sort_pairs(const std::string& name, size_t n) {
    if (!wants(name)) return;
    Random<K> in(n);
    Random<uint32_t> values(n);
    Column<K> out(n);
    Column<uint32_t> values_out(n);
    row(name, n, [&](void* s, size_t& b) {
        return cub::DeviceRadixSort::SortPairs(
            s, b, in.data, out.data, values.data, values_out.data, n, 0, int(sizeof(K) * 8), stream);
    });
}

int main(int argc, char** argv) {
    if (argc > 1) filter = argv[1];
    CHECK(cudaStreamCreate(&stream));
    for (size_t n : {size_t(1) << 16, size_t(1) << 20, size_t(1) << 24, size_t(1) << 28}) {
        reductions(n);
        scans(n);
        selections(n);
        sort_keys<uint32_t>("sort_keys_u32", n);
        sort_keys<float>("sort_keys_f32", n);
        sort_keys<uint64_t>("sort_keys_u64", n);
        sort_pairs<uint32_t>("sort_pairs_u32", n);
        sort_pairs<uint64_t>("sort_pairs_u64", n);
    }
}
