// What compute-sanitizer says of the memory of CUDA graphs, by a program that is right.
//
//     nvcc -O1 -arch=native benches/peers/graph_memory.cu -o graph_memory
//     ./graph_memory
//     compute-sanitizer --tool memcheck ./graph_memory
//     compute-sanitizer --tool initcheck ./graph_memory
//
// Arrays of random sizes are allocated and released inside of a capture, in random order. Each is written to its last
// word and no farther, and read again before it is released. With `kept` those that are left at the end are the
// graph's result: read after its last launch, and released by each next one (AUTO_FREE_ON_LAUNCH). The program counts
// the words that are not what was written there last.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                           \
    do {                                                                      \
        cudaError_t status_ = (call);                                         \
        if (status_ != cudaSuccess) {                                         \
            std::printf("%s: %s\n", #call, cudaGetErrorString(status_));      \
            std::exit(1);                                                     \
        }                                                                     \
    } while (0)

constexpr unsigned BLOCK = 256;

__device__ unsigned wrong_words;

__global__ void write(unsigned *words, unsigned count) {
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count) words[i] = i ^ count;
}

__global__ void read(const unsigned *words, unsigned count) {
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < count && words[i] != (i ^ count)) atomicAdd(&wrong_words, 1u);
}

struct Array {
    unsigned *words;
    unsigned count;
    unsigned blocks() const { return (count + BLOCK - 1) / BLOCK; }
};

void read_and_release(Array array, cudaStream_t stream) {
    read<<<array.blocks(), BLOCK, 0, stream>>>(array.words, array.count);
    CHECK(cudaFreeAsync(array.words, stream));
}

// Captures one graph of `arrays` arrays of at most `most` words, and launches it three times.
void run(cudaStream_t stream, int arrays, unsigned most, bool kept) {
    std::vector<Array> live;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < arrays; i++) {
        Array array = {nullptr, 1 + rand() % (rand() % 4 ? most / 16 : most)};
        CHECK(cudaMallocAsync(&array.words, array.count * sizeof(unsigned), stream));
        write<<<array.blocks(), BLOCK, 0, stream>>>(array.words, array.count);
        live.push_back(array);
        while (live.size() > 6 || (!live.empty() && rand() % 3 == 0)) {
            size_t chosen = rand() % live.size();
            read_and_release(live[chosen], stream);
            live.erase(live.begin() + chosen);
        }
    }
    if (!kept) {
        for (Array array : live) read_and_release(array, stream);
        live.clear();
    }
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int launch = 0; launch < 3; launch++) CHECK(cudaGraphLaunch(executable, stream));
    for (Array array : live) read_and_release(array, stream);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char **argv) {
    bool kept = argc < 2 || argv[1][0] != '0';
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    srand(1);
    for (int graph = 0; graph < 4; graph++) run(stream, 40, 100000, kept);
    unsigned wrong;
    CHECK(cudaMemcpyFromSymbol(&wrong, wrong_words, sizeof wrong));
    std::printf("results %s: %u words are not what was written\n", kept ? "kept" : "released", wrong);
    return wrong != 0;
}
