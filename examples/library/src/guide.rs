//! The Rust of the guide, which `cargo test --doc` compiles and runs. A test of xtask finds pages that are missing
//! here.

macro_rules! pages {
    ($($name:ident: $page:literal,)*) => {
        $(#[doc = include_str!(concat!("../../../docs/guide/", $page))]
        mod $name {})*
    };
}

pages! {
    ccq_tree: "ccq-tree.md",
    delaunay_stars: "delaunay-stars.md",
    gpu_scan: "gpu-scan.md",
    idw: "idw.md",
    index: "index.md",
    kriging: "kriging.md",
    laz_chunks: "laz-chunks.md",
    nni_grid: "nni-grid.md",
    pba_voronoi: "pba-voronoi.md",
    point_clouds: "point-clouds.md",
    quadtree_sort: "quadtree-sort.md",
    sphere_qtm: "sphere-qtm.md",
    terrain_grid: "terrain-grid.md",
}
