// How long the driver takes to begin, and to compile kernels from PTX by one thread and by several: each kernel is
// loaded alone, the head of its module's text and its entry, as gpu-core does it.
//
//   nvcc -O2 -std=c++17 ptx_loading.cu -o ptx_loading -lcuda
//   CUDA_CACHE_DISABLE=1 ./ptx_loading THREADS kernels-rs/ptx/nni_exact.sm_75.ptx ...     compiled anew
//   ./ptx_loading THREADS FILES ...                                    from the driver's cache, the second time

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

struct Clock {
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    double ms() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
    }
};

static void check(CUresult code, const char *call) {
    if (code != CUDA_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", call, (int)code);
        exit(1);
    }
}

// The texts of all kernels of a module.
static void add_kernels(const char *path, std::vector<std::string> &texts) {
    static const std::string ENTRY = ".visible .entry ";
    std::ifstream file(path);
    std::stringstream stream;
    stream << file.rdbuf();
    const std::string text = stream.str();
    size_t at = text.find(ENTRY);
    const std::string head = text.substr(0, at);
    while (at != std::string::npos) {
        const size_t next = text.find(ENTRY, at + 1);
        texts.push_back(head + text.substr(at, next == std::string::npos ? next : next - at));
        at = next;
    }
}

int main(int count, char **words) {
    if (count < 3) {
        fprintf(stderr, "usage: ptx_loading THREADS FILE...\n");
        return 2;
    }
    const int threads = atoi(words[1]);
    std::vector<std::string> texts;
    for (int i = 2; i < count; i++) add_kernels(words[i], texts);
    Clock starting;
    check(cuInit(0), "cuInit");
    const double started = starting.ms();
    CUdevice device;
    CUcontext context;
    Clock opening;
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    const double opened = opening.ms();
    std::atomic<size_t> next{0};
    std::vector<std::thread> all;
    Clock loading;
    for (int i = 0; i < threads; i++)
        all.emplace_back([&] {
            check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
            for (size_t k; (k = next++) < texts.size();) {
                CUmodule module;
                check(cuModuleLoadData(&module, texts[k].c_str()), "cuModuleLoadData");
            }
        });
    for (auto &thread : all) thread.join();
    printf("%d threads: begin %.0f ms, context %.0f ms, %zu kernels %.1f ms\n", threads, started, opened, texts.size(), loading.ms());
    return 0;
}
