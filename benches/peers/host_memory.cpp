// What memory and files cost on a machine, without any of Tessera: the figures of gpu-core's `host_memory` and of
// docs/performance.md ("the whole program").
//
//   g++ -O2 -std=c++17 -pthread host_memory.cpp -o host_memory
//   host_memory touch THREADS LARGE_PAGES(0|1)      first touch of fresh memory, and giving it back
//   host_memory write THREADS PATH TAKE_ROOM(0|1)   an array to a new file, by pwrite
//   host_memory map THREADS PATH                    the same through a mapping of the file
//   host_memory direct THREADS PATH                 the same past the system's cache
//
// The array has the 3,732,480,000 bytes of the distances of a raster of 43200 x 21600. PATH is removed.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

static const size_t BYTES = 3732480000ull;

struct Clock {
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    double ms() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
    }
};

// Calls work(first, bytes) for pieces of an array, which threads take in turn.
static void by_pieces(int threads, size_t bytes, size_t piece, const std::function<void(size_t, size_t)> &work) {
    std::atomic<size_t> next{0};
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back([&] {
            for (size_t first; (first = next.fetch_add(piece)) < bytes;) work(first, std::min(piece, bytes - first));
        });
    for (auto &thread : all) thread.join();
}

static char *fresh(bool large_pages) {
    void *memory = mmap(nullptr, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    if (large_pages) madvise(memory, BYTES, MADV_HUGEPAGE);
    return static_cast<char *>(memory);
}

static void touch(char *memory, int threads) {
    by_pieces(threads, BYTES, 2 << 20, [&](size_t first, size_t bytes) { memset(memory + first, 1, bytes); });
}

static void write_all(int file, const char *from, size_t at, size_t bytes) {
    while (bytes > 0) {
        ssize_t written = pwrite(file, from + at, bytes, at);
        if (written <= 0) {
            perror("pwrite");
            exit(1);
        }
        at += written;
        bytes -= written;
    }
}

int main(int count, char **words) {
    if (count < 4) {
        fprintf(stderr, "usage: see the top of the source\n");
        return 2;
    }
    const std::string what = words[1];
    const int threads = atoi(words[2]);
    if (what == "touch") {
        char *memory = fresh(atoi(words[3]) != 0);
        Clock touching;
        touch(memory, threads);
        const double touched = touching.ms();
        Clock giving;
        munmap(memory, BYTES);
        printf("touch %d threads, large pages %s: %.0f ms, given back %.0f ms\n", threads, words[3], touched, giving.ms());
        return 0;
    }
    const bool is_map = what == "map", is_direct = what == "direct";
    const bool takes_room = is_map || is_direct || (count > 4 && atoi(words[4]) != 0);
    char *memory = fresh(true);
    touch(memory, 16);
    const int file = open(words[3], O_RDWR | O_CREAT | O_TRUNC | (is_direct ? O_DIRECT : 0), 0644);
    if (file < 0) {
        perror(words[3]);
        return 1;
    }
    // Whole blocks, as direct writing asks.
    const size_t bytes = is_direct ? BYTES / 4096 * 4096 : BYTES;
    Clock writing;
    if (takes_room && posix_fallocate(file, 0, bytes) != 0) fprintf(stderr, "no room can be taken\n");
    char *mapped = nullptr;
    if (is_map) mapped = static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    by_pieces(threads, bytes, 8 << 20, [&](size_t first, size_t piece) {
        if (is_map)
            memcpy(mapped + first, memory + first, piece);
        else
            write_all(file, memory, first, piece);
    });
    if (is_map) munmap(mapped, bytes);
    close(file);
    printf("%s %d threads, room %s: %.0f ms\n", words[1], threads, takes_room ? "taken first" : "as it comes", writing.ms());
    unlink(words[3]);
    return 0;
}
