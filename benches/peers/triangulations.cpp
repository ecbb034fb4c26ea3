// Times CGAL's Delaunay triangulation, and its natural neighbours, on the clouds of `delaunay_bench write FOLDER`.
//
//   triangulations FOLDER SIDE NAME..    SIDE: cells along each side of the surface, 0 for none
//
// CGAL is Debian's libcgal-dev: g++ -O3 -march=native -DNDEBUG -std=c++17 triangulations.cpp -o triangulations -lgmp -lmpfr
//
// A cloud is three files of f64 in little-endian order, NAME.x, NAME.y and NAME.z. Rows are delaunay_bench's. Sites are
// inserted in CGAL's spatial order. The surface has a value at each centre of a cell inside the hull. Each cell's walk
// begins with the face of the one before.

#include <CGAL/Delaunay_triangulation_2.h>
#include <CGAL/Exact_predicates_inexact_constructions_kernel.h>
#include <CGAL/Triangulation_vertex_base_with_info_2.h>
#include <CGAL/natural_neighbor_coordinates_2.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

using Kernel = CGAL::Exact_predicates_inexact_constructions_kernel;
using Vertices = CGAL::Triangulation_vertex_base_with_info_2<double, Kernel>;
using Structure = CGAL::Triangulation_data_structure_2<Vertices>;
using Mesh = CGAL::Delaunay_triangulation_2<Kernel, Structure>;
using Point = Kernel::Point_2;
using Clock = std::chrono::steady_clock;

static const double EXTENT = 1000.0;

static std::vector<double> column(const std::string &path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        std::exit(1);
    }
    std::vector<double> values(static_cast<size_t>(file.tellg()) / sizeof(double));
    file.seekg(0);
    file.read(reinterpret_cast<char *>(values.data()), values.size() * sizeof(double));
    return values;
}

static double milliseconds(Clock::time_point from) {
    return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

static void row(const std::string &work, size_t points, size_t other, double ms) {
    std::printf("cgal\t%s\t%zu\t%zu\t%.5f\t%.5f\t%.5f\n", work.c_str(), points, other, ms, ms, ms);
    std::fflush(stdout);
}

// The mean of the values by Sibson's weights, summed over all cells: what is computed must be used.
static double surface(const Mesh &mesh, int side) {
    std::vector<std::pair<Mesh::Vertex_handle, double>> weights;
    double sum = 0.0;
    Mesh::Face_handle start;
    for (int line = 0; line < side; line++) {
        for (int place = 0; place < side; place++) {
            const double cell = EXTENT / side;
            const Point at((place + 0.5) * cell, EXTENT - (line + 0.5) * cell);
            weights.clear();
            start = mesh.locate(at, start);
            auto found = CGAL::natural_neighbor_coordinates_2(
                mesh, at, std::back_inserter(weights),
                CGAL::Identity<std::pair<Mesh::Vertex_handle, double>>(), start);
            if (!found.third) {
                continue;
            }
            double value = 0.0;
            for (const auto &[vertex, weight] : weights) {
                value += weight * vertex->info();
            }
            sum += value / found.second;
        }
    }
    return sum;
}

int main(int count, char **words) {
    if (count < 4) {
        std::fprintf(stderr, "usage: triangulations FOLDER SIDE NAME..\n");
        return 1;
    }
    const int side = std::atoi(words[2]);
    std::printf("# CGAL %s\n", CGAL_VERSION_STR);
    for (int i = 3; i < count; i++) {
        const std::string name = words[i], path = std::string(words[1]) + "/" + name;
        const auto x = column(path + ".x"), y = column(path + ".y"), z = column(path + ".z");
        std::vector<std::pair<Point, double>> sites;
        for (size_t p = 0; p < x.size(); p++) {
            sites.emplace_back(Point(x[p], y[p]), z[p]);
        }
        const auto begin = Clock::now();
        Mesh mesh;
        mesh.insert(sites.begin(), sites.end());
        const double built = milliseconds(begin);
        const size_t edges = mesh.number_of_vertices() + mesh.number_of_faces() - 1;
        row("delaunay_" + name, x.size(), edges, built);
        if (side > 0) {
            const double sum = surface(mesh, side);
            std::printf("# sum of the values: %.9g\n", sum);
            const std::string work = "surface_" + std::to_string(side) + "_" + name;
            row(work, x.size(), static_cast<size_t>(side) * side, milliseconds(begin));
        }
    }
}
