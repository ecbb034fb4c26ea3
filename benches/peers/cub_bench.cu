// Times NVIDIA's CUB, the peer that gpu-scan is raced against.
//
//   nvcc -O3 -std=c++17 -arch=native benches/peers/cub_bench.cu -o cub_bench
//   ./cub_bench [FILTER] [--runs N]
//
// With -DCUSORT and -I of a copy of IlyaGrebnov/libcusort the sorts are that library's, whose calls are CUB's, and no other
// case is run: rows then begin with cusort.
//
// A case runs where its name contains FILTER. One line per case and size, separated by tabs,
// times in milliseconds; lines that begin with '#' say what was measured on:
//
//   cub  NAME  N  MEDIAN  MIN  MAX
//
// The method. Whoever is compared with these numbers measures in the same way.
//
// - Inputs lie on the device before anything is timed. Values are uniform: element i is made of
//   the top bits of splitmix64(i + seed) (from_hash), the same for every run of the program.
//   Integers span their whole range, floats [0, 1). Keys in runs of mean length m: element i > 0
//   starts a new run with probability 1/m (splitmix64(i + SEED_RUNS) < 2^64 / m), and its key is
//   the number of runs begun before its own. Seeds: the SEED_ constants.
// - Outputs and temporary storage are allocated before, once per case and size.
// - The card is kept busy for half a second first, so that its clocks are up.
// - Three warm-up calls, then N timed calls (20 unless --runs says otherwise) on one non-default
//   stream: record event, call, record event, synchronise. Nothing else runs between two timed
//   calls; where an input has to be restored, that is done and waited for before the first event.
//   The time is the one between the two events, so it has the gaps between a call's kernels in it
//   and, while the card waits for the host, the host's part as well: at 2^16 elements it is most
//   of the time.
// - The median of an even number of times is the mean of the middle two.
// - No cache is flushed. Inputs that fit the L2 cache (50 MB on an H100 or H200) are read from a
//   warm cache, on both sides.
//
// Where CUB knows an operator by its type it picks better tuned kernels, so its own operator types
// are used wherever it has them. Counts are passed as int: 32-bit offsets, CUB's faster ones.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include <cub/cub.cuh>

#ifdef CUSORT
#include <libcusort.cuh>
namespace radix = cusort;
constexpr const char* LIBRARY = "cusort";
#else
namespace radix = cub;
constexpr const char* LIBRARY = "cub";
#endif

// CUB 2.8 brought ArgMin with two outputs and took its operators from libcu++; DeviceMerge is a
// little older.
#if CUB_VERSION >= 200800
#include <cub/device/device_merge.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <thrust/execution_policy.h>
using Plus = cuda::std::plus<>;
using Maximum = cuda::maximum<>;
#else
#include <cuda/std/functional>
#include <thrust/execution_policy.h>
#include <thrust/merge.h>
using Plus = cub::Sum;
using Maximum = cub::Max;
#endif
#include <thrust/binary_search.h>
// CUB 3.5 has the first k of an order, and scans of segments.
#if CUB_VERSION >= 300500
#include <cub/device/device_segmented_scan.cuh>
#include <cub/device/device_topk.cuh>
#include <cub/device/device_batched_topk.cuh>
#include <cuda/execution>
#include <cuda/iterator>
#endif

namespace {

constexpr int WARM_UPS = 3;
constexpr int SEGMENT = 1000;

constexpr uint64_t SEED_VALUES = 42;
constexpr uint64_t SEED_FLAGS = 43ull << 32;
constexpr uint64_t SEED_RUNS = 44ull << 32;
constexpr uint64_t SEED_OTHER = 45ull << 32;

// ---- Errors and memory --------------------------------------------------------------------------

void check(cudaError_t status, const char* what, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "cub_bench.cu:%d: %s: %s\n", line, what, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check((call), #call, __LINE__)

struct DeviceFree {
  void operator()(void* pointer) const { CHECK(cudaFree(pointer)); }
};
template <class T>
using Buffer = std::unique_ptr<T[], DeviceFree>;

template <class T>
Buffer<T> allocate(size_t count) {
  void* pointer = nullptr;
  CHECK(cudaMalloc(&pointer, count * sizeof(T)));
  return Buffer<T>(static_cast<T*>(pointer));
}

class Event {
 public:
  Event() { CHECK(cudaEventCreate(&event_)); }
  ~Event() { CHECK(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream) { CHECK(cudaEventRecord(event_, stream)); }
  float milliseconds_since(const Event& start) const {
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// ---- Inputs -------------------------------------------------------------------------------------

__host__ __device__ inline uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

template <class T>
__host__ __device__ T from_hash(uint64_t hash) {
  if constexpr (std::is_same<T, float>::value) {
    return static_cast<float>(hash >> 40) * 0x1p-24f;
  } else if constexpr (std::is_same<T, double>::value) {
    return static_cast<double>(hash >> 11) * 0x1p-53;
  } else {
    return static_cast<T>(hash >> (64 - 8 * sizeof(T)));
  }
}

template <class T>
struct RandomValue {
  uint64_t seed;
  __device__ T operator()(uint64_t i) const { return from_hash<T>(splitmix64(i + seed)); }
};

struct RandomFlag {
  __device__ uint8_t operator()(uint64_t i) const { return splitmix64(i + SEED_FLAGS) >> 63; }
};

struct RunStart {
  uint64_t mean_length;
  __device__ uint32_t operator()(uint64_t i) const {
    return i > 0 && splitmix64(i + SEED_RUNS) < ~0ull / mean_length;
  }
};

struct SegmentStart {
  int n;
  __device__ int operator()(uint64_t i) const {
    const uint64_t start = i * SEGMENT;
    return start < static_cast<uint64_t>(n) ? static_cast<int>(start) : n;
  }
};

// The bounds of 256 equal bins from 0 to 1.
struct Bound {
  __device__ float operator()(uint64_t i) const { return static_cast<float>(i) / 256.0f; }
};

template <class T, class Generator>
__global__ void fill_kernel(T* out, uint64_t count, Generator generator) {
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += step) out[i] = generator(i);
}

template <class T, class Generator>
void fill(T* out, size_t count, Generator generator, cudaStream_t stream) {
  fill_kernel<<<1024, 256, 0, stream>>>(out, count, generator);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
}

template <class T, class Generator>
Buffer<T> generate(size_t count, Generator generator, cudaStream_t stream) {
  Buffer<T> out = allocate<T>(count);
  fill(out.get(), count, generator, stream);
  return out;
}

// ---- Timing -------------------------------------------------------------------------------------

// CUB's calls come in two steps: asked without storage they say how much they want.
template <class Call>
Buffer<char> temporary_storage(Call call, size_t& bytes) {
  CHECK(call(nullptr, bytes));
  return allocate<char>(std::max<size_t>(bytes, 1));
}

template <class Call>
void run_once(Call call, cudaStream_t stream) {
  size_t bytes = 0;
  const auto temporary = temporary_storage(call, bytes);
  CHECK(call(temporary.get(), bytes));
  CHECK(cudaStreamSynchronize(stream));
}

struct Bench {
  const char* name;
  int n;
  int runs;
  cudaStream_t stream;

  // Times call(); before every call, prepare() runs to its end, untimed.
  template <class Call, class Prepare>
  void time(Call call, Prepare prepare) const {
    std::vector<float> times;
    for (int run = 0; run < WARM_UPS + runs; ++run) {
      const float milliseconds = time_once(call, prepare);
      if (run >= WARM_UPS) times.push_back(milliseconds);
    }
    print_row(times);
  }

  // Times a CUB call: call(temporary, bytes).
  template <class Call, class Prepare>
  void time_cub(Call call, Prepare prepare) const {
    size_t bytes = 0;
    const auto temporary = temporary_storage(call, bytes);
    time([&] { return call(temporary.get(), bytes); }, prepare);
  }

  template <class Call>
  void time_cub(Call call) const {
    time_cub(call, [] {});
  }

  template <class T>
  Buffer<T> random(uint64_t seed = SEED_VALUES) const {
    return generate<T>(n, RandomValue<T>{seed}, stream);
  }

  Buffer<uint32_t> keys_in_runs(uint64_t mean_length) const {
    Buffer<uint32_t> starts = generate<uint32_t>(n, RunStart{mean_length}, stream);
    Buffer<uint32_t> keys = allocate<uint32_t>(n);
    run_once([&](void* temporary, size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(temporary, bytes, starts.get(), keys.get(), n, stream);
    }, stream);
    return keys;
  }

 private:
  template <class Call, class Prepare>
  float time_once(Call& call, Prepare& prepare) const {
    Event start, stop;
    prepare();
    CHECK(cudaStreamSynchronize(stream));
    start.record(stream);
    CHECK(call());
    stop.record(stream);
    CHECK(cudaStreamSynchronize(stream));
    return stop.milliseconds_since(start);
  }

  void print_row(std::vector<float> times) const {
    std::sort(times.begin(), times.end());
    const size_t half = times.size() / 2;
    const float median =
        times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
    std::printf("%s\t%s\t%d\t%.4f\t%.4f\t%.4f\n", LIBRARY, name, n, median, times.front(), times.back());
    std::fflush(stdout);
  }
};

// ---- Copy and reduce ----------------------------------------------------------------------------

void copy(const Bench& b) {
  const auto in = b.random<uint32_t>();
  const auto out = allocate<uint32_t>(b.n);
  const size_t bytes = b.n * sizeof(uint32_t);
  b.time([&] {
    return cudaMemcpyAsync(out.get(), in.get(), bytes, cudaMemcpyDeviceToDevice, b.stream);
  }, [] {});
}

template <class T>
void reduce_sum(const Bench& b) {
  const auto in = b.random<T>();
  const auto out = allocate<T>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceReduce::Sum(temporary, bytes, in.get(), out.get(), b.n, b.stream);
  });
}

template <class T>
void reduce_min(const Bench& b) {
  const auto in = b.random<T>();
  const auto out = allocate<T>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceReduce::Min(temporary, bytes, in.get(), out.get(), b.n, b.stream);
  });
}

template <class T>
void argmin(const Bench& b) {
  const auto in = b.random<T>();
#if CUB_VERSION >= 200800
  const auto value = allocate<T>(1);
  const auto index = allocate<int64_t>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceReduce::ArgMin(
        temporary, bytes, in.get(), value.get(), index.get(), b.n, b.stream);
  });
#else
  const auto out = allocate<cub::KeyValuePair<int, T>>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceReduce::ArgMin(temporary, bytes, in.get(), out.get(), b.n, b.stream);
  });
#endif
}

void segmented_reduce_sum(const Bench& b) {
  const auto in = b.random<float>();
  const int segments = (b.n + SEGMENT - 1) / SEGMENT;
  const auto offsets = generate<int>(segments + 1, SegmentStart{b.n}, b.stream);
  const auto out = allocate<float>(segments);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceSegmentedReduce::Sum(temporary, bytes, in.get(), out.get(), segments,
                                           offsets.get(), offsets.get() + 1, b.stream);
  });
}

// ---- Scan ---------------------------------------------------------------------------------------

template <class T>
void scan_inclusive_sum(const Bench& b) {
  const auto in = b.random<T>();
  const auto out = allocate<T>(b.n);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(temporary, bytes, in.get(), out.get(), b.n, b.stream);
  });
}

// InclusiveSum adds u8 and u16 in an int; this operator keeps them in their own type.
template <class T>
void scan_inclusive_sum_narrow(const Bench& b) {
  const auto in = b.random<T>();
  const auto out = allocate<T>(b.n);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(
        temporary, bytes, in.get(), out.get(), cuda::std::plus<T>{}, b.n, b.stream);
  });
}

template <class T>
void scan_exclusive_sum(const Bench& b) {
  const auto in = b.random<T>();
  const auto out = allocate<T>(b.n);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(temporary, bytes, in.get(), out.get(), b.n, b.stream);
  });
}

template <class T>
void scan_inclusive_max(const Bench& b) {
  const auto in = b.random<T>();
  const auto out = allocate<T>(b.n);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(
        temporary, bytes, in.get(), out.get(), Maximum{}, b.n, b.stream);
  });
}

struct Equal {
  template <class T>
  __host__ __device__ bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};

template <class T>
void scan_by_key_sum(const Bench& b) {
  const auto keys = b.keys_in_runs(50);
  const auto in = b.random<T>();
  const auto out = allocate<T>(b.n);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceScan::InclusiveSumByKey(
        temporary, bytes, keys.get(), in.get(), out.get(), b.n, Equal{}, b.stream);
  });
}

// ---- Select and partition -----------------------------------------------------------------------

struct LowerHalf {
  __host__ __device__ bool operator()(uint32_t value) const { return value < 0x80000000u; }
};

void select_if(const Bench& b) {
  const auto in = b.random<uint32_t>();
  const auto out = allocate<uint32_t>(b.n);
  const auto kept = allocate<int>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceSelect::If(
        temporary, bytes, in.get(), out.get(), kept.get(), b.n, LowerHalf{}, b.stream);
  });
}

void select_flagged(const Bench& b) {
  const auto in = b.random<uint32_t>();
  const auto flags = generate<uint8_t>(b.n, RandomFlag{}, b.stream);
  const auto out = allocate<uint32_t>(b.n);
  const auto kept = allocate<int>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceSelect::Flagged(
        temporary, bytes, in.get(), flags.get(), out.get(), kept.get(), b.n, b.stream);
  });
}

void unique(const Bench& b) {
  const auto in = b.keys_in_runs(2);
  const auto out = allocate<uint32_t>(b.n);
  const auto kept = allocate<int>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceSelect::Unique(
        temporary, bytes, in.get(), out.get(), kept.get(), b.n, b.stream);
  });
}

void partition(const Bench& b) {
  const auto in = b.random<uint32_t>();
  const auto out = allocate<uint32_t>(b.n);
  const auto kept = allocate<int>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DevicePartition::If(
        temporary, bytes, in.get(), out.get(), kept.get(), b.n, LowerHalf{}, b.stream);
  });
}

// ---- Runs and histogram -------------------------------------------------------------------------

template <int MEAN>
void run_length_encode(const Bench& b) {
  const auto in = b.keys_in_runs(MEAN);
  const auto keys = allocate<uint32_t>(b.n);
  const auto lengths = allocate<uint32_t>(b.n);
  const auto runs = allocate<int>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceRunLengthEncode::Encode(
        temporary, bytes, in.get(), keys.get(), lengths.get(), runs.get(), b.n, b.stream);
  });
}

template <int MEAN>
void reduce_by_key(const Bench& b) {
  const auto keys = b.keys_in_runs(MEAN);
  const auto values = b.random<uint32_t>();
  const auto unique_keys = allocate<uint32_t>(b.n);
  const auto sums = allocate<uint32_t>(b.n);
  const auto runs = allocate<int>(1);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceReduce::ReduceByKey(temporary, bytes, keys.get(), unique_keys.get(),
                                          values.get(), sums.get(), runs.get(), Plus{}, b.n,
                                          b.stream);
  });
}

void histogram_256(const Bench& b) {
  const auto in = b.random<uint8_t>();
  const auto counts = allocate<unsigned>(256);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(
        temporary, bytes, in.get(), counts.get(), 257, 0, 256, b.n, b.stream);
  });
}

void histogram_256_floats(const Bench& b) {
  const auto in = b.random<float>();
  const auto counts = allocate<unsigned>(256);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(
        temporary, bytes, in.get(), counts.get(), 257, 0.0f, 1.0f, b.n, b.stream);
  });
}

// Between 257 given bounds: the same values, but CUB searches for them.
void histogram_range_256_floats(const Bench& b) {
  const auto in = b.random<float>();
  const auto counts = allocate<unsigned>(256);
  const auto bounds = generate<float>(257, Bound{}, b.stream);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceHistogram::HistogramRange(
        temporary, bytes, in.get(), counts.get(), 257, bounds.get(), b.n, b.stream);
  });
}

// ---- Sort, merge and search -----------------------------------------------------------------------------

template <class K>
void sort_keys(const Bench& b) {
  const auto in = b.random<K>();
  const auto out = allocate<K>(b.n);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return radix::DeviceRadixSort::SortKeys(
        temporary, bytes, in.get(), out.get(), b.n, 0, 8 * sizeof(K), b.stream);
  });
}

// May overwrite its input, which saves a buffer and is CUB's other way to sort; the input is
// restored before every call.
template <class K>
void sort_keys_double_buffer(const Bench& b) {
  const auto original = b.random<K>();
  const auto first = allocate<K>(b.n);
  const auto second = allocate<K>(b.n);
  radix::DoubleBuffer<K> keys(first.get(), second.get());
  b.time_cub([&](void* temporary, size_t& bytes) {
    return radix::DeviceRadixSort::SortKeys(
        temporary, bytes, keys, b.n, 0, 8 * sizeof(K), b.stream);
  }, [&] {
    keys = radix::DoubleBuffer<K>(first.get(), second.get());
    CHECK(cudaMemcpyAsync(first.get(), original.get(), b.n * sizeof(K), cudaMemcpyDeviceToDevice,
                          b.stream));
  });
}

template <class K, class V>
void sort_pairs(const Bench& b) {
  const auto keys_in = b.random<K>();
  const auto values_in = b.random<V>(SEED_OTHER);
  const auto keys_out = allocate<K>(b.n);
  const auto values_out = allocate<V>(b.n);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return radix::DeviceRadixSort::SortPairs(temporary, bytes, keys_in.get(), keys_out.get(),
                                           values_in.get(), values_out.get(), b.n, 0,
                                           8 * sizeof(K), b.stream);
  });
}

void segmented_sort(const Bench& b) {
  const auto in = b.random<uint32_t>();
  const auto out = allocate<uint32_t>(b.n);
  const int segments = (b.n + SEGMENT - 1) / SEGMENT;
  const auto offsets = generate<int>(segments + 1, SegmentStart{b.n}, b.stream);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceSegmentedSort::SortKeys(temporary, bytes, in.get(), out.get(), b.n, segments,
                                              offsets.get(), offsets.get() + 1, b.stream);
  });
}

void segmented_radix_sort(const Bench& b) {
  const auto in = b.random<uint32_t>();
  const auto out = allocate<uint32_t>(b.n);
  const int segments = (b.n + SEGMENT - 1) / SEGMENT;
  const auto offsets = generate<int>(segments + 1, SegmentStart{b.n}, b.stream);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceSegmentedRadixSort::SortKeys(temporary, bytes, in.get(), out.get(), b.n,
                                                   segments, offsets.get(), offsets.get() + 1, 0,
                                                   32, b.stream);
  });
}

struct Less {
  template <class T>
  __host__ __device__ bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

Buffer<uint32_t> sorted_values(int count, uint64_t seed, cudaStream_t stream) {
  const auto values = generate<uint32_t>(count, RandomValue<uint32_t>{seed}, stream);
  auto sorted = allocate<uint32_t>(count);
  run_once([&](void* temporary, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(
        temporary, bytes, values.get(), sorted.get(), count, 0, 32, stream);
  }, stream);
  return sorted;
}

// Two sorted inputs of n/2 elements; n counts the output. For an older CUB it is
// thrust::merge, which allocates and waits inside the call.
void merge_keys(const Bench& b) {
  const int half = b.n / 2;
  const auto first = sorted_values(half, SEED_VALUES, b.stream);
  const auto second = sorted_values(half, SEED_OTHER, b.stream);
  const auto out = allocate<uint32_t>(b.n);
#if CUB_VERSION >= 200800
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceMerge::MergeKeys(temporary, bytes, first.get(), half, second.get(), half,
                                       out.get(), Less{}, b.stream);
  });
#else
  b.time([&] {
    thrust::merge(thrust::cuda::par.on(b.stream), first.get(), first.get() + half, second.get(),
                  second.get() + half, out.get(), Less{});
    return cudaGetLastError();
  }, [] {});
#endif
}

#if CUB_VERSION >= 200800
void merge_pairs(const Bench& b) {
  const int half = b.n / 2;
  const auto first = sorted_values(half, SEED_VALUES, b.stream);
  const auto second = sorted_values(half, SEED_OTHER, b.stream);
  const auto values = b.random<uint32_t>();
  const auto out = allocate<uint32_t>(b.n);
  const auto values_out = allocate<uint32_t>(b.n);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceMerge::MergePairs(temporary, bytes, first.get(), values.get(), half,
                                        second.get(), values.get() + half, half, out.get(),
                                        values_out.get(), Less{}, b.stream);
  });
}
#endif

// As many random queries as sorted elements. CUB has no search; Thrust's neither allocates nor,
// with this policy, waits.
void upper_bound(const Bench& b) {
  const auto sorted = sorted_values(b.n, SEED_VALUES, b.stream);
  const auto queries = b.random<uint32_t>(SEED_OTHER);
  const auto out = allocate<uint64_t>(b.n);
  b.time([&] {
    thrust::upper_bound(thrust::cuda::par_nosync.on(b.stream), sorted.get(), sorted.get() + b.n,
                        queries.get(), queries.get() + b.n, out.get());
    return cudaGetLastError();
  }, [] {});
}

#if CUB_VERSION >= 300500
void segmented_scan(const Bench& b) {
  const auto in = b.random<uint32_t>();
  const auto out = allocate<uint32_t>(b.n);
  const int segments = (b.n + SEGMENT - 1) / SEGMENT;
  const auto offsets = generate<int>(segments + 1, SegmentStart{b.n}, b.stream);
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceSegmentedScan::InclusiveSegmentedSum(
        temporary, bytes, in.get(), out.get(), offsets.get(), offsets.get() + 1, segments, b.stream);
  });
}

// The greatest and their indices, in no order and, of equal ones, any: it has no other way.
template <int K>
void top_k(const Bench& b) {
  const auto in = b.random<uint32_t>();
  const auto keys = allocate<uint32_t>(K);
  const auto indices = allocate<uint64_t>(K);
  const auto requirements = cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                                     cuda::execution::output_ordering::unsorted);
  const auto how = cuda::std::execution::env{cuda::stream_ref{b.stream}, requirements};
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceTopK::MaxPairs(temporary, bytes, in.get(), keys.get(),
                                     cuda::counting_iterator<uint64_t>{0}, indices.get(), b.n, K, how);
  });
}

struct SegmentLength {
  int n;
  __device__ int operator()(int s) const { return min(SEGMENT, n - s * SEGMENT); }
};

// The greatest of each segment and their indices within it, in no order and, of equal ones, any.
template <int K>
void segmented_top_k(const Bench& b) {
  const int segments = (b.n + SEGMENT - 1) / SEGMENT;
  const auto in = b.random<uint32_t>();
  const auto keys = allocate<uint32_t>(size_t{K} * segments);
  const auto indices = allocate<uint32_t>(size_t{K} * segments);
  const auto lengths = generate<int>(segments, SegmentLength{b.n}, b.stream);
  const auto each = [](auto* start, int length) {
    return cuda::make_strided_iterator(cuda::make_counting_iterator(start), length);
  };
  const auto requirements =
      cuda::execution::require(cuda::execution::determinism::not_guaranteed, cuda::execution::tie_break::unspecified,
                               cuda::execution::output_ordering::unsorted);
  const auto how = cuda::std::execution::env{cuda::stream_ref{b.stream}, requirements};
  const auto sizes = cuda::args::deferred_sequence{lengths.get(), cuda::args::bounds<1, SEGMENT>()};
  b.time_cub([&](void* temporary, size_t& bytes) {
    return cub::DeviceBatchedTopK::MaxPairs(
        temporary, bytes, each(in.get(), SEGMENT), each(keys.get(), K),
        cuda::make_constant_iterator(cuda::make_counting_iterator(uint32_t{0})), each(indices.get(), K), sizes,
        cuda::args::constant<K>{}, cuda::args::immediate{int64_t{segments}}, how);
  });
}
#endif

// ---- The cases ----------------------------------------------------------------------------------

const std::vector<int> ALL = {1 << 16, 1 << 20, 1 << 24, 1 << 28};
const std::vector<int> MIDDLE = {1 << 20, 1 << 24};

struct Case {
  const char* name;
  const std::vector<int>& sizes;
  void (*run)(const Bench&);
};

const Case CASES[] = {
    {"copy_u32", ALL, copy},
    {"reduce_sum_u32", ALL, reduce_sum<uint32_t>},
    {"reduce_sum_f32", ALL, reduce_sum<float>},
    {"reduce_sum_u64", ALL, reduce_sum<uint64_t>},
    {"reduce_sum_f64", ALL, reduce_sum<double>},
    {"reduce_min_f32", ALL, reduce_min<float>},
    {"argmin_f32", ALL, argmin<float>},
    {"segmented_reduce_sum_f32", ALL, segmented_reduce_sum},
    {"scan_inclusive_sum_u8", ALL, scan_inclusive_sum<uint8_t>},
    {"scan_inclusive_sum_u8_narrow", ALL, scan_inclusive_sum_narrow<uint8_t>},
    {"scan_inclusive_sum_u16", ALL, scan_inclusive_sum<uint16_t>},
    {"scan_inclusive_sum_u16_narrow", ALL, scan_inclusive_sum_narrow<uint16_t>},
    {"scan_inclusive_sum_u32", ALL, scan_inclusive_sum<uint32_t>},
    {"scan_inclusive_sum_f32", ALL, scan_inclusive_sum<float>},
    {"scan_inclusive_sum_u64", ALL, scan_inclusive_sum<uint64_t>},
    {"scan_inclusive_sum_f64", ALL, scan_inclusive_sum<double>},
    {"scan_exclusive_sum_u32", ALL, scan_exclusive_sum<uint32_t>},
    {"scan_inclusive_max_u32", ALL, scan_inclusive_max<uint32_t>},
    {"scan_by_key_sum_u32", ALL, scan_by_key_sum<uint32_t>},
    {"select_if_u32", ALL, select_if},
    {"select_flagged_u32", ALL, select_flagged},
    {"unique_u32", ALL, unique},
    {"partition_u32", ALL, partition},
    {"rle_u32_mean2", ALL, run_length_encode<2>},
    {"rle_u32_mean50", ALL, run_length_encode<50>},
    {"reduce_by_key_u32_mean2", ALL, reduce_by_key<2>},
    {"reduce_by_key_u32_mean50", ALL, reduce_by_key<50>},
    {"histogram_256_u8", ALL, histogram_256},
    {"histogram_256_f32", ALL, histogram_256_floats},
    {"histogram_range_256_f32", ALL, histogram_range_256_floats},
    {"sort_keys_u8", ALL, sort_keys<uint8_t>},
    {"sort_keys_u16", ALL, sort_keys<uint16_t>},
    {"sort_keys_u32", ALL, sort_keys<uint32_t>},
    {"sort_keys_u32_doublebuffer", ALL, sort_keys_double_buffer<uint32_t>},
    {"sort_keys_u64", ALL, sort_keys<uint64_t>},
    {"sort_keys_f32", ALL, sort_keys<float>},
    {"sort_pairs_u8_u32", ALL, sort_pairs<uint8_t, uint32_t>},
    {"sort_pairs_u16_u32", ALL, sort_pairs<uint16_t, uint32_t>},
    {"sort_pairs_u32_u32", ALL, sort_pairs<uint32_t, uint32_t>},
    {"sort_pairs_u32_u64", ALL, sort_pairs<uint32_t, uint64_t>},
    {"sort_pairs_u64_u32", ALL, sort_pairs<uint64_t, uint32_t>},
    {"sort_pairs_u64_u64", ALL, sort_pairs<uint64_t, uint64_t>},
    {"segmented_sort_u32", MIDDLE, segmented_sort},
    {"segmented_sort_u32_radix", MIDDLE, segmented_radix_sort},
    {"merge_keys_u32", ALL, merge_keys},
#if CUB_VERSION >= 200800
    {"merge_pairs_u32_u32", ALL, merge_pairs},
#endif
    {"upper_bound_u32", ALL, upper_bound},
#if CUB_VERSION >= 300500
    {"segmented_scan_inclusive_sum_u32", ALL, segmented_scan},
    {"top_k_u32_1000", ALL, top_k<1000>},
    {"segmented_top_k_u32_10", ALL, segmented_top_k<10>},
#endif
};

// Whether the library that was compiled in has this case.
bool is_there(const char* name) {
  return std::strcmp(LIBRARY, "cub") == 0 || std::strncmp(name, "sort_", 5) == 0;
}

struct Options {
  const char* filter = "";
  int runs = 20;
};

[[noreturn]] void usage(const char* complaint) {
  std::fprintf(stderr, "cub_bench: %s\nusage: cub_bench [FILTER] [--runs N]\n", complaint);
  std::exit(2);
}

int parse_runs(const char* text) {
  char* end = nullptr;
  const long runs = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || runs < 1 || runs > 1000000) {
    usage("--runs wants a number from 1 to 1000000");
  }
  return static_cast<int>(runs);
}

Options parse(int count, char** arguments) {
  Options options;
  bool filtered = false;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--runs") == 0) {
      if (++i == count) usage("--runs wants a number");
      options.runs = parse_runs(arguments[i]);
    } else if (arguments[i][0] == '-') {
      usage("unknown option");
    } else if (filtered) {
      usage("more than one filter");
    } else {
      options.filter = arguments[i];
      filtered = true;
    }
  }
  return options;
}

void print_header(int runs) {
  int device = 0, runtime = 0, driver = 0;
  cudaDeviceProp properties;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&properties, device));
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaDriverGetVersion(&driver));
  std::printf("# %s, CUB %d.%d.%d, CUDA runtime %d.%d, driver for CUDA %d.%d, median of %d\n",
              properties.name, CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION,
              runtime / 1000, runtime % 1000 / 10, driver / 1000, driver % 1000 / 10, runs);
  std::printf("# library\tname\tn\tmedian_ms\tmin_ms\tmax_ms\n");
}

void raise_clocks(cudaStream_t stream) {
  using Clock = std::chrono::steady_clock;
  const size_t count = 1 << 24;
  const auto buffer = allocate<uint64_t>(count);
  const auto end = Clock::now() + std::chrono::milliseconds(500);
  while (Clock::now() < end) {
    fill(buffer.get(), count, RandomValue<uint64_t>{SEED_VALUES}, stream);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse(count, arguments);
  print_header(options.runs);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  raise_clocks(stream);
  bool any = false;
  for (const Case& c : CASES) {
    if (std::strstr(c.name, options.filter) == nullptr || !is_there(c.name)) continue;
    any = true;
    for (const int n : c.sizes) c.run(Bench{c.name, n, options.runs, stream});
  }
  CHECK(cudaStreamDestroy(stream));
  if (!any) usage("no case has that in its name");
  return 0;
}
