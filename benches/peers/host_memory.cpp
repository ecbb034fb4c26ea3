// What memory and files cost on a machine, without any of Tessera: the figures of gpu-core's `host_memory` and of
// docs/guide/performance.md ("the whole program").
//
//   g++ -O2 -std=c++17 -pthread host_memory.cpp -o host_memory
//   host_memory touch THREADS LARGE_PAGES(0|1)      first touch of fresh memory, and giving it back
//   host_memory write THREADS PATH TAKE_ROOM(0|1)   an array to a new file, by pwrite
//   host_memory map THREADS PATH                    the same through a mapping of the file
//   host_memory direct THREADS PATH                 the same past the system's cache
//   host_memory ahead THREADS PATH                  the same to a file whose pages were brought by writing zeros: by pwrite
//   host_memory window THREADS PATH                 the same through mappings of 4 MiB, brought at once (MADV_POPULATE_WRITE)
//   host_memory drop THREADS PATH WHEN(dirty|clean|forgotten)   taking back the pages of a file that loses its name: as it was
//                                                   written, when it is on the disk, and after POSIX_FADV_DONTNEED
//
// The array has the 3,732,480,000 bytes of the distances of a raster of 43200 x 21600, or as many as a last argument says.
// PATH is removed.

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

static size_t BYTES = 3732480000ull;

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

static void ahead(bool by_windows, int threads, int file, const char *memory) {
    std::vector<char> zeros(1 << 20);
    Clock taking;
    if (posix_fallocate(file, 0, BYTES) != 0) fprintf(stderr, "no room can be taken\n");
    for (size_t at = 0; at < BYTES; at += zeros.size())
        for (size_t bytes = std::min(zeros.size(), BYTES - at), done = 0; done < bytes;) {
            const ssize_t written = pwrite(file, zeros.data(), bytes - done, at + done);
            if (written <= 0) {
                perror("pwrite");
                exit(1);
            }
            done += written;
        }
    const double taken = taking.ms();
    Clock writing;
    std::atomic<int> refused{0};
    by_pieces(threads, BYTES, 4 << 20, [&](size_t first, size_t piece) {
        if (!by_windows) return write_all(file, memory, first, piece);
        void *window = mmap(nullptr, piece, PROT_READ | PROT_WRITE, MAP_SHARED, file, first);
        if (window == MAP_FAILED || madvise(window, piece, 23 /* MADV_POPULATE_WRITE */) != 0) {
            refused++;
            write_all(file, memory, first, piece);
        } else {
            memcpy(window, memory + first, piece);
        }
        if (window != MAP_FAILED) munmap(window, piece);
    });
    printf("%s %d threads: zeros by one thread %.0f ms, then the array %.0f ms, windows refused %d\n",
           by_windows ? "window" : "ahead", threads, taken, writing.ms(), refused.load());
}

static void drop(const std::string &when, int threads, int file, const char *path, const char *memory) {
    by_pieces(threads, BYTES, 8 << 20, [&](size_t first, size_t piece) { write_all(file, memory, first, piece); });
    if (when != "dirty") fsync(file);
    Clock forgetting;
    if (when == "forgotten")
        for (size_t at = 0; at < BYTES; at += 64 << 20) posix_fadvise(file, at, 64 << 20, POSIX_FADV_DONTNEED);
    const double forgotten = forgetting.ms();
    unlink(path);
    Clock closing;
    close(file);
    printf("drop %s: forgotten in %.0f ms, taken back in %.0f ms\n", when.c_str(), forgotten, closing.ms());
}

int main(int count, char **words) {
    if (count < 4) {
        fprintf(stderr, "usage: see the top of the source\n");
        return 2;
    }
    const std::string what = words[1];
    const int threads = atoi(words[2]);
    if (atoll(words[count - 1]) > 1 << 20) BYTES = atoll(words[--count]);
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
    if (what == "ahead" || what == "window") {
        ahead(what == "window", threads, file, memory);
        close(file);
        unlink(words[3]);
        return 0;
    }
    if (what == "drop") {
        drop(count > 4 ? words[4] : "dirty", threads, file, words[3], memory);
        return 0;
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
