//! The diagram by all pairs of a cell and a site, as in the kernels of Wang et al. (2015,
//! doi:10.11772/j.issn.1001-9081.2015.06.1564). In three of them a thread has one cell, and reads sites from global
//! memory, from shared memory by tiles, or from read-only memory. In the fourth a thread has several cells, in
//! registers.
//!
//! Differences from the paper:
//!
//! 1. A pair is a scalar product in f32 and a maximum, without the index of the site. A thread remembers the two groups
//!    of [`GROUP`] sites with the greatest products, and the greatest product of all other groups.
//! 2. If that product is smaller than the greatest by more than the error of f32 ([`MARGIN`]), the nearest site is in
//!    the two groups. It is found there in f64 by the rule of [`super::nearest`]. The other cells are listed, and
//!    [`search_all`](const@search_all) compares all sites for them, in f64. So the result is the same as in f64.
//! 3. The paper uses constant memory, 64 KB that the host fills again for each part of the sites. Here it is global
//!    memory that a warp reads as read-only data by one address, since the compiler's backend cannot declare a constant
//!    bank. The gain is the same: a broadcast of cached data.
//! 4. The kernel with several cells a thread takes sites from shared memory. A block's cells lie side by side, so one
//!    axis is near all of them. Centres are divided by their coordinate along it, as in a gnomonic projection, and a
//!    product is two multiply-adds. Products are positive and are compared by their bits, as integers: a GPU takes the
//!    greatest of three integers at once.

use device_std::block::BlockReduce;
use device_std::real::Real;
use device_std::shared::{Carver, SharedArray};
use device_std::vector::{self, Vector as Four};
use device_std::{In, Out, arguments, kernel, thread};

use super::cells_of;
use super::nearest::{NearSite, Sites, Two, squared_chord};
use super::outputs::Outputs;
use super::triangle::{Triangle, Vector};

/// Threads of a block.
pub const BLOCK: u32 = 128;

/// Sites whose greatest scalar product is remembered together.
pub const GROUP: u32 = 32;

/// Sites that a block has in shared memory; the sites' array is padded to a multiple of it.
pub const TILE: u32 = 256;

/// Sites of a group that a thread compares without a branch.
const STEP: u32 = 8;

/// Cells of a thread in the kernel with several.
pub const SEVERAL: u32 = 8;

/// Sites are read from global memory.
const GLOBAL: u32 = 0;
/// Sites are read as read-only data.
const READ_ONLY: u32 = 1;
/// Sites are staged in shared memory.
const SHARED: u32 = 2;

/// By how much the scalar product of a farther site may seem greater in f32. Two vectors rounded to f32 are off by
/// 2^-24 of their length each, and each of the three operations by 2^-24. That makes 3e-7 for a product, and twice that
/// for the difference of two.
pub const MARGIN: f32 = 7e-7;

/// The same for the product with a centre divided by its coordinate at an axis, which is no less than [`NEAR`]. Lengths
/// are up to twice as large, which makes 4.5e-7 for a product.
pub const PROJECTED_MARGIN: f32 = 1.2e-6;

/// A cell is projected along an axis if the cosine of its centre to the axis is this or more. For cells of a block the
/// cosine is more than 0.57 less their distance from the block's first cell.
pub const NEAR: f64 = 0.5;

/// The shared memory of a block.
#[inline(always)]
const fn tile(carver: &mut Carver, memory: u32) -> SharedArray<Four> {
    carver.array(if memory == SHARED { TILE } else { 0 })
}

/// Bytes of it.
const fn tile_bytes(memory: u32) -> u32 {
    let mut carver = Carver::new();
    let _ = tile(&mut carver, memory);
    carver.bytes()
}

/// The axis that a block's cells are projected along: the one nearest to the centre of one of them.
#[derive(Clone, Copy)]
struct Axis {
    /// 0 for x, 1 for y, 2 for z.
    number: u32,
    /// Whether it is its negative end.
    is_negative: bool,
}

impl Axis {
    #[inline(always)]
    fn nearest_to([x, y, z]: Vector) -> Self {
        let magnitude = |x: f64| if x < 0.0 { -x } else { x };
        let (a, b, c) = (magnitude(x), magnitude(y), magnitude(z));
        let number = if c >= a && c >= b { 2 } else { (b > a) as u32 };
        let along = if number == 2 {
            z
        } else if number == 1 {
            y
        } else {
            x
        };
        Self { number, is_negative: along < 0.0 }
    }

    /// The coordinates across the axis, and the one along it.
    #[inline(always)]
    fn turned<T: Copy>(&self, [x, y, z]: [T; 3], negative: impl Fn(T) -> T) -> [T; 3] {
        let [a, b, c] = match self.number {
            0 => [y, z, x],
            1 => [z, x, y],
            _ => [x, y, z],
        };
        [a, b, if self.is_negative { negative(c) } else { c }]
    }

    /// The place scaled so that its coordinate along the axis is 1.
    #[inline(always)]
    fn projected(&self, centre: Vector) -> [f32; 3] {
        let [a, b, c] = self.turned(centre, |x| -x);
        [(a / c) as f32, (b / c) as f32, 1.0]
    }

    /// Whether a place is near enough to it.
    #[inline(always)]
    fn is_near(&self, centre: Vector) -> bool {
        self.turned(centre, |x| -x)[2] >= NEAR
    }

    /// A site of a tile.
    #[inline(always)]
    fn turned_site(&self, [x, y, z, _]: Four) -> Four {
        let [a, b, c] = self.turned([x, y, z], |bits| bits ^ 1 << 31);
        [a, b, c, 0]
    }
}

/// The greatest scalar products of a cell, as bits: bits of positive products have the products' order. Other products
/// are below all of these.
#[derive(Clone, Copy)]
struct Best {
    greatest: i32,
    /// Its group.
    group: u32,
    /// The greatest of all other groups.
    second: i32,
    /// Its group.
    second_group: u32,
    /// The greatest of the rest.
    third: i32,
}

impl Best {
    /// Stands for products that are not positive.
    const NOTHING: Self = Self { greatest: 0, group: 0, second: 0, second_group: 0, third: 0 };

    /// Adds a group.
    #[inline(always)]
    fn with(self, greatest: i32, group: u32) -> Self {
        if greatest > self.greatest {
            Self {
                greatest,
                group,
                second: self.greatest,
                second_group: self.group,
                third: self.second,
            }
        } else if greatest > self.second {
            Self { second: greatest, second_group: group, third: self.second, ..self }
        } else {
            Self { third: i32::max(self.third, greatest), ..self }
        }
    }

    /// Whether a product may belong to a site nearer than the one with the greatest product. A NaN may.
    #[inline(always)]
    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "true of what is NaN")]
    fn is_doubtful(&self, product: i32, margin: f32) -> bool {
        let [product, greatest] = [product, self.greatest].map(|bits| f32::from_bits(bits as u32));
        !(product < greatest - margin)
    }
}

/// Sites in f32.
#[arguments]
pub struct Narrow<'a> {
    /// The bits of four numbers for each site (the last has no meaning), then zeros.
    pub numbers: In<'a, Four>,
    /// Sites and zeros together: a multiple of [`TILE`].
    pub padded: u32,
}

impl Narrow<'_> {
    /// The numbers of a site, read as data that nobody writes while the kernel runs.
    #[inline(always)]
    fn read_only(&self, site: u32) -> Four {
        // SAFETY: the site is inside, and no kernel that takes these numbers writes them.
        unsafe { vector::load_read_only(self.numbers.address(site, 1).cast()) }
    }
}

/// Writes the nearest site of each cell of a level, or lists the cell in `doubtful`. An instance's name says where
/// sites are read. In `registers` a thread has [`SEVERAL`] cells, which are projected. Grid: a block for each `BLOCK *
/// Q` cells.
///
/// # Safety
/// The slices have what [`Sites`] and [`Narrow`] say, of the same sites. The outputs and `doubtful` have an element for
/// each cell, and `doubts` has one, which is zero. `sites_of_group` is [`GROUP`]: an argument, so that no compiler
/// unrolls a whole tile, which takes all registers.
#[kernel(block = BLOCK, shared = tile_bytes(MEMORY), instances(
    global: <GLOBAL, 1>, resident = 6;
    read_only: <READ_ONLY, 1>, resident = 6;
    shared: <SHARED, 1>, resident = 6;
    registers: <SHARED, { SEVERAL as usize }>, resident = 4;
))]
pub unsafe fn compare_all<const MEMORY: u32, const Q: usize>(
    sites: Sites<'_>,
    narrow: Narrow<'_>,
    sites_of_group: u32,
    level: u32,
    nearest: Out<'_, u32>,
    distance: Option<Out<'_, f64>>,
    doubtful: Out<'_, u64>,
    doubts: Out<'_, u64>,
) {
    let shared = tile(&mut Carver::new(), MEMORY);
    let me = thread::thread_idx_x();
    let cells = cells_of(level);
    let of_block = thread::block_idx_x() as u64 * (BLOCK as u64 * Q as u64);
    let first = of_block + me as u64;
    let centre_of = |cell| Triangle::of_index(level, u64::min(cell, cells - 1)).centre();
    let axis = Axis::nearest_to(centre_of(of_block));
    let mut centres = [[0.0f32; 3]; Q];
    let mut best = [Best::NOTHING; Q];
    let mut q = 0;
    while q < Q {
        let centre = centre_of(first + q as u64 * BLOCK as u64);
        let [x, y, z] = centre;
        centres[q] =
            if is_projected(Q) { axis.projected(centre) } else { [x as f32, y as f32, z as f32] };
        q += 1;
    }
    let mut start = 0;
    while start < narrow.padded {
        if MEMORY == SHARED {
            // SAFETY: all threads of a block have the same tiles, so the whole block comes to both barriers; between
            // them each element is stored by one thread.
            unsafe {
                thread::sync_threads();
                let mut i = me;
                while i < TILE {
                    let site = narrow.numbers.load(start + i);
                    shared.store(i, if is_projected(Q) { axis.turned_site(site) } else { site });
                    i += BLOCK;
                }
                thread::sync_threads();
            }
        }
        let tile = Tile { shared, narrow, start };
        let mut group = 0;
        while group < TILE {
            let greatest = tile.greatest_of_group::<MEMORY, Q>(&centres, group, sites_of_group);
            // Later groups seldom have a product that enters the best.
            let mut changes = false;
            let mut q = 0;
            while q < Q {
                changes |= greatest[q] > best[q].third;
                q += 1;
            }
            if changes {
                let mut q = 0;
                while q < Q {
                    best[q] = best[q].with(greatest[q], start + group);
                    q += 1;
                }
            }
            group += sites_of_group;
        }
        start += TILE;
    }
    let outputs = Outputs { nearest, second: None, distance, tie: None };
    let margin = if is_projected(Q) { PROJECTED_MARGIN } else { MARGIN };
    let mut q = 0;
    while q < Q {
        let cell = first + q as u64 * BLOCK as u64;
        if cell < cells {
            let (best, centre) = (best[q], centre_of(cell));
            let is_out = is_projected(Q) && !axis.is_near(centre);
            if is_out || best.is_doubtful(best.third, margin) {
                doubtful.set(doubts.fetch_add(0u32, 1), cell);
            } else {
                let mut two = nearest_of_group(sites, centre, best.group, Two::NOTHING);
                if best.is_doubtful(best.second, margin) {
                    two = nearest_of_group(sites, centre, best.second_group, two);
                }
                outputs.write(cell, two);
            }
        }
        q += 1;
    }
}

/// Whether centres are divided by a coordinate: not with one cell a thread, as in the paper.
const fn is_projected(cells_of_thread: usize) -> bool {
    cells_of_thread > 1
}

/// A tile of sites, wherever it is read from.
#[derive(Clone, Copy)]
struct Tile<'a> {
    /// The tile, if the block has staged it.
    shared: SharedArray<Four>,
    /// All sites.
    narrow: Narrow<'a>,
    /// The tile's first site.
    start: u32,
}

impl Tile<'_> {
    /// The bits of the greatest scalar product of each centre with the sites of a group; 0 if none is positive.
    #[inline(always)]
    fn greatest_of_group<const MEMORY: u32, const Q: usize>(
        &self,
        centres: &[[f32; 3]; Q],
        group: u32,
        sites_of_group: u32,
    ) -> [i32; Q] {
        let mut greatest = [0; Q];
        let mut step = 0;
        while step < sites_of_group {
            let mut i = 0;
            while i < STEP {
                // By two, since the greatest of three numbers is one instruction on GPUs that have one.
                let at = group + step + i;
                let (one, other) = (self.site::<MEMORY>(at), self.site::<MEMORY>(at + 1));
                let mut q = 0;
                while q < Q {
                    let of_two =
                        i32::max(product::<Q>(centres[q], one), product::<Q>(centres[q], other));
                    greatest[q] = i32::max(greatest[q], of_two);
                    q += 1;
                }
                i += 2;
            }
            step += STEP;
        }
        greatest
    }

    /// A site of the tile.
    #[inline(always)]
    fn site<const MEMORY: u32>(&self, at: u32) -> [f32; 3] {
        let [x, y, z, _] = match MEMORY {
            // SAFETY: the block has staged the whole tile, and a barrier lies between.
            SHARED => unsafe { self.shared.load(at) },
            READ_ONLY => self.narrow.read_only(self.start + at),
            _ => self.narrow.numbers.load(self.start + at),
        };
        [f32::from_bits(x), f32::from_bits(y), f32::from_bits(z)]
    }
}

/// The bits of the scalar product of a centre and a site.
#[inline(always)]
fn product<const Q: usize>([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> i32 {
    let product = if is_projected(Q) {
        Real::mul_add(b, y, Real::mul_add(a, x, z))
    } else {
        Real::mul_add(c, z, Real::mul_add(b, y, a * x))
    };
    product.to_bits() as i32
}

/// Combines `two`, the nearest found before, with the sites of a group, in f64.
#[inline(always)]
fn nearest_of_group(sites: Sites<'_>, centre: Vector, group: u32, mut two: Two) -> Two {
    let end = u32::min(group + GROUP, sites.count);
    let mut site = group;
    while site < end {
        two = two.with(NearSite { squared: squared_chord(centre, sites.place(site)), site });
        site += vector::unknown(1);
    }
    two
}

/// Threads of a block that searches all sites.
pub const SEARCH_BLOCK: u32 = 256;

/// The block's reduction to its nearest site.
#[inline(always)]
const fn least(carver: &mut Carver) -> BlockReduce<(u64, u64)> {
    BlockReduce::new(carver, SEARCH_BLOCK as usize)
}

/// The nearest of what the threads of a block found; every thread gets it.
///
/// # Safety
/// Every thread of the block comes to the same call.
#[inline(always)]
unsafe fn first_of_block(least: BlockReduce<(u64, u64)>, found: NearSite) -> NearSite {
    // The bits of squares, which are not negative, are in the order of the squares.
    let key = |found: NearSite| (found.squared.to_bits(), found.site as u64);
    let before =
        |a: (u64, u64), b: (u64, u64)| if b.0 < a.0 || b.0 == a.0 && b.1 < a.1 { b } else { a };
    // SAFETY: the whole block is here, as the caller sees to.
    let (squared, site) = unsafe { least.reduce(key(found), key(NearSite::NOTHING), before) };
    NearSite { squared: f64::from_bits(squared), site: site as u32 }
}

/// Writes the nearest sites, in f64 among all sites, of the listed cells; without a list, of all cells of the level.
/// Grid: any number of blocks, which take turns.
///
/// # Safety
/// The slices have what [`Sites`] and [`Outputs`] say. `doubts` has one element, and `doubtful` has that number of
/// cells of the level.
#[kernel(block = SEARCH_BLOCK, carve = |carver| least(carver))]
pub unsafe fn search_all(
    sites: Sites<'_>,
    level: u32,
    doubtful: Option<In<'_, u64>>,
    doubts: In<'_, u64>,
    outputs: Outputs<'_>,
) {
    let least = least(&mut Carver::new());
    let cells = if doubtful.is_none() { cells_of(level) } else { doubts.get(0u32) };
    let mut i = thread::block_idx_x() as u64;
    while i < cells {
        let cell = doubtful.map_or(i, |doubtful| doubtful.get(i));
        let centre = Triangle::of_index(level, cell).centre();
        let mut two = Two::NOTHING;
        let mut site = thread::thread_idx_x();
        while site < sites.count {
            two = two.with(NearSite { squared: squared_chord(centre, sites.place(site)), site });
            site += SEARCH_BLOCK;
        }
        // SAFETY: all threads of a block have the same cells, so the whole block comes to both calls.
        let (first, second) = unsafe {
            let first = first_of_block(least, two.first);
            let rest = if two.first.site == first.site { two.second } else { two.first };
            (first, first_of_block(least, rest))
        };
        if thread::thread_idx_x() == 0 {
            outputs.write(cell, Two { first, second });
        }
        i += thread::grid_dim_x() as u64;
    }
}

device_std::ptx_module! { "sphere_pairs" }
