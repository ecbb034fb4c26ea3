// The nearest points on the card by ArborX (a BVH over Kokkos), for the rows of nearest_rivals.cu.
//
// Both libraries are fetched, not kept here. Kokkos is built for the card and installed, about two minutes on 16 cores:
//
//   git clone https://github.com/kokkos/kokkos && git clone https://github.com/arborx/ArborX
//   cmake -S kokkos -B built -DCMAKE_CXX_COMPILER=$PWD/kokkos/bin/nvcc_wrapper -DKokkos_ENABLE_CUDA=ON \
//       -DCMAKE_CXX_STANDARD=20 -DCMAKE_INSTALL_PREFIX=$PWD/installed && cmake --build built --target install -j
//   cmake -S ArborX -B arborx_built -DCMAKE_CXX_COMPILER=$PWD/kokkos/bin/nvcc_wrapper -DCMAKE_PREFIX_PATH=$PWD/installed \
//       -DCMAKE_INSTALL_PREFIX=$PWD/installed && cmake --build arborx_built --target install
//   kokkos/bin/nvcc_wrapper -O3 -std=c++20 -arch=native --extended-lambda -I installed/include -I installed/include/ArborX \
//       benches/peers/nearest_arborx.cpp -o nearest_arborx -L installed/lib -lkokkoscore -lcuda
//
// ArborX sorts the queries along a curve and allocates what it returns in each call. It has lists of one query after the other,
// each with indices and distances.
#include "nearest_points.h"

#include <ArborX.hpp>
#include <ArborX_Version.hpp>
#include <Kokkos_Core.hpp>

using Space = Kokkos::DefaultExecutionSpace;
using Memory = Space::memory_space;
using Point = ArborX::Point<2>;
using Points = Kokkos::View<Point *, Memory>;

struct Found {
    int index;
    float distance;
};

struct Keep {
    template <class Predicate, class Value, class Output>
    KOKKOS_FUNCTION void operator()(const Predicate &predicate, const Value &value, const Output &output) const {
        output(Found{int(value.index), ArborX::distance(ArborX::getGeometry(predicate), value.value)});
    }
};

static Points uploaded(const std::vector<float2> &points) {
    Points there(Kokkos::view_alloc("points", Kokkos::WithoutInitializing), points.size());
    CHECK(cudaMemcpy(there.data(), points.data(), points.size() * sizeof(float2), cudaMemcpyHostToDevice));
    return there;
}

static void race(const std::string &kind, const Points &cells, const std::vector<float2> &host_cells) {
    const size_t count = 10'000'000;
    auto points = points_of(kind, count, 2), others = points_of(kind, count, 3);
    Points there = uploaded(points), queries = uploaded(others);
    Space space;
    auto name = [&](const char *what) { return "nearest_" + kind + "_" + what; };
    auto tree_of = [&] {
        return ArborX::BoundingVolumeHierarchy(space, ArborX::Experimental::attach_indices(there));
    };
    row("arborx", name("index"), count, 0, [&] { tree_of(); }, [] {});
    auto tree = tree_of();
    Kokkos::View<Found *, Memory> found("found", 0);
    Kokkos::View<int *, Memory> starts("starts", 0);
    auto rows = [&](const char *what, const Points &of, const std::vector<float2> &host, int k) {
        row("arborx", name(what), count, of.size(), [&] {
            tree.query(space, ArborX::Experimental::make_nearest(of, k), Keep{}, found, starts);
        }, [] {});
        check("arborx", points, host, k, [&](size_t query) {
            std::vector<Found> all(k);
            CHECK(cudaMemcpy(all.data(), found.data() + query * k, k * sizeof(Found), cudaMemcpyDeviceToHost));
            std::vector<float> distances;
            for (const Found &one : all) distances.push_back(one.distance);
            return distances;
        });
    };
    rows("others", queries, others, 8);
    rows("cells_8", cells, host_cells, 8);
    rows("cells_12", cells, host_cells, 12);
}

int main(int count, char **arguments) {
    Kokkos::ScopeGuard guard(count, arguments);
    printf("# ArborX %s, Kokkos %d\n", ArborX::version().c_str(), KOKKOS_VERSION);
    auto host_cells = cells_of(5000);
    Points cells = uploaded(host_cells);
    for (std::string kind : {"uniform", "clustered", "lines"}) race(kind, cells, host_cells);
}
