//! What every plan keeps, over random inputs, grids, reaches and budgets.

use gpu_core::{Bounds, GridSpec};
use proptest::prelude::*;
use serde_json::json;
use tile_plan::{
    Error, Input, Memory, Model, Params, Plan, Reach, Shape, Stamp, Tile, VERSION, plan,
};

fn bounds(x: f64, y: f64, width: f64, height: f64) -> Bounds {
    Bounds { min_x: x, min_y: y, max_x: x + width, max_y: y + height }
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let length = prop_oneof![Just(0.0), 0.0..3000.0];
    let place = (-3000.0..3000.0, -3000.0..3000.0, length.clone(), length);
    let place =
        prop_oneof![9 => place.prop_map(|(x, y, w, h)| Some(bounds(x, y, w, h))), 1 => Just(None)];
    prop::collection::vec((place, 0..1_000_000_u64, 0..3_u32), 0..30).prop_map(|inputs| {
        let input = |(i, (place, points, rank)): (usize, (Option<Bounds>, u64, u32))| {
            let stamp = Stamp { bytes: points * 30, seconds: 1_700_000_000, nanoseconds: 5 };
            Input::new(format!("{i}.laz")).bounds(place).points(points).stamp(stamp).rank(rank)
        };
        inputs.into_iter().enumerate().map(input).collect()
    })
}

fn params() -> impl Strategy<Value = Params> {
    let grid = (
        -9.0..9.0,
        -9.0..9.0,
        prop_oneof![Just(0.1), Just(1.0), 0.5..20.0],
        1..3000_u32,
        1..3000_u32,
    );
    let reach =
        prop_oneof![(0.0..90.0).prop_map(Reach::Cells), (0.0..90.0).prop_map(Reach::Ground)];
    let side = prop_oneof![Just(None), (16..2000_u32).prop_map(Some)];
    let device = prop_oneof![Just(None), (1_000_000..100_000_000_u64).prop_map(Some)];
    let budgets = (1_000_000..100_000_000_u64, device);
    let shape = prop::sample::select(vec![Shape::Rectangles, Shape::Squares, Shape::Strips]);
    let side = (side, any::<bool>(), shape);
    (grid, prop::collection::vec(reach, 0..3), budgets, side).prop_map(
        |((x, y, cell, width, height), reaches, (budget, device), (side, ends, shape))| {
            let grid = GridSpec::new(x, y, cell, width, height).unwrap();
            let model = Model { fixed: 1000, per_point: 50, per_cell: 20 };
            let params =
                Params::new(grid, budget, model).most_side(side).program(json!({"a": 0.1}));
            let on_device = Model { fixed: 5000, per_point: 90, per_cell: 10 };
            let params = params.device_model(on_device).device_budget(device).ends_at_grid(ends);
            let params = params.shape(shape);
            reaches.into_iter().fold(params, |params, reach| params.reach("--reach", reach))
        },
    )
}

/// The plan, unless a tile of the least size does not fit, which the error must say truly.
fn planned(inputs: &[Input], params: &Params) -> Option<Plan> {
    match plan(inputs, params) {
        Ok(plan) => Some(plan),
        Err(Error::Budget { memory, width, height, bytes, budget, .. }) => {
            let is_least = height <= 16 || params.shape == Shape::Strips;
            assert!(width <= 16 && is_least && bytes > budget);
            let given = match memory {
                Memory::Host => Some(params.budget),
                Memory::Device => params.device_budget,
            };
            assert_eq!(Some(budget), given);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn lines(tile: &Tile) -> (u32, u32, u32, u32) {
    (tile.column, tile.row, tile.column + tile.width, tile.row + tile.height)
}

proptest! {
    #[test]
    fn tiles_are_disjoint_and_cover_the_grid(inputs in inputs(), params in params()) {
        let Some(plan) = planned(&inputs, &params) else { return Ok(()) };
        let tiles = plan.tiles();
        let cells: u64 = tiles.iter().map(|t| u64::from(t.width) * u64::from(t.height)).sum();
        prop_assert_eq!(cells, plan.grid().cells());
        for (i, a) in tiles.iter().enumerate() {
            let (west, north, east, south) = lines(a);
            prop_assert!(east <= plan.grid().width && south <= plan.grid().height);
            for b in &tiles[..i] {
                let (w, n, e, s) = lines(b);
                prop_assert!(e <= west || east <= w || s <= north || south <= n, "{:?} {:?}", a, b);
            }
        }
    }

    #[test]
    fn tiles_fit_their_limits_and_lie_on_blocks(inputs in inputs(), params in params()) {
        let Some(plan) = planned(&inputs, &params) else { return Ok(()) };
        for tile in plan.tiles() {
            let around = |first: u32, count: u32, side: u32| {
                let (low, high) = (i64::from(first), i64::from(first + count));
                let halo = i64::from(plan.halo());
                let ends = if params.ends_at_grid { (0, i64::from(side)) } else { (i64::MIN, i64::MAX) };
                ((high + halo).min(ends.1) - (low - halo).max(ends.0)) as u64
            };
            let columns = around(tile.column, tile.width, params.grid.width);
            let rows = around(tile.row, tile.height, params.grid.height);
            prop_assert_eq!(tile.cells, columns * rows);
            prop_assert_eq!(tile.bytes, params.model.bytes(tile.points, tile.cells));
            prop_assert!(tile.bytes <= params.budget);
            let on_device = params.device_model.bytes(tile.points, tile.cells);
            prop_assert_eq!(tile.device_bytes, on_device);
            prop_assert!(params.device_budget.is_none_or(|most| on_device <= most));
            let is_strip = params.shape == Shape::Strips;
            let side = if is_strip { tile.width } else { tile.width.max(tile.height) };
            prop_assert!(params.most_side.is_none_or(|most| side <= most));
            for (first, count) in [(tile.column, tile.width), (tile.row, tile.height)] {
                let step = if count >= 256 { 256 } else { 16 };
                prop_assert!(params.shape == Shape::Squares || first.is_multiple_of(step));
            }
        }
    }

    /// As large as they can be: of twice the side one does not fit.
    #[test]
    fn squares_have_one_side_and_are_cut_at_edges_alone(inputs in inputs(), params in params()) {
        let params = params.shape(Shape::Squares);
        let Some(plan) = planned(&inputs, &params) else { return Ok(()) };
        let (grid, first) = (plan.grid(), &plan.tiles()[0]);
        let side = first.width.max(first.height).next_power_of_two().max(16);
        for tile in plan.tiles() {
            prop_assert!(tile.column.is_multiple_of(side) && tile.row.is_multiple_of(side));
            prop_assert_eq!(tile.width, side.min(grid.width - tile.column));
            prop_assert_eq!(tile.height, side.min(grid.height - tile.row));
        }
        if plan.tiles().len() > 1 && params.most_side.is_none_or(|most| 2 * side <= most) {
            let smaller = params.most_side(side);
            prop_assert_eq!(plan, planned(&inputs, &smaller).unwrap());
        }
    }

    /// Each names all of them, and has as many points.
    #[test]
    fn tiles_may_read_all_inputs(inputs in inputs(), params in params()) {
        let params = params.reach("--all", Reach::Everywhere);
        let Some(plan) = planned(&inputs, &params) else { return Ok(()) };
        let points: u64 = inputs.iter().map(|input| input.points).sum();
        for tile in plan.tiles() {
            prop_assert_eq!(tile.inputs.len(), inputs.len());
            prop_assert_eq!(tile.points, points);
            prop_assert_eq!(tile.cells, u64::from(tile.width) * u64::from(tile.height));
        }
        prop_assert_eq!(plan.halo(), 0);
    }

    /// They keep the grid's height, and lie side by side.
    #[test]
    fn strips_are_as_tall_as_the_grid(inputs in inputs(), params in params()) {
        let params = params.shape(Shape::Strips);
        let Some(plan) = planned(&inputs, &params) else { return Ok(()) };
        let mut next = 0;
        for tile in plan.tiles() {
            prop_assert_eq!((tile.column, tile.row, tile.height), (next, 0, plan.grid().height));
            next += tile.width;
        }
        prop_assert_eq!(next, plan.grid().width);
    }

    /// A point anywhere within the widest reach of a cell lies within what its tile reads, and its file is
    /// one of the tile's.
    #[test]
    fn halos_hold_what_cells_need(
        inputs in inputs(), params in params(), places in prop::collection::vec((0.0..1.0, 0.0..1.0, 0.0..1.0, 0.0..6.3), 20)
    ) {
        let Some(plan) = planned(&inputs, &params) else { return Ok(()) };
        let cell = plan.grid().cell_size;
        let ground = |reach: &Reach| match *reach { Reach::Cells(c) => c * cell, Reach::Ground(g) => g, Reach::Everywhere => 0.0 };
        let reach = params.reaches.iter().map(|(_, reach)| ground(reach)).fold(0.0, f64::max);
        prop_assert!(f64::from(plan.halo()) * cell >= reach * (1.0 - 1e-12));
        for (u, v, far, angle) in places {
            for tile in plan.tiles() {
                let b = plan.grid_of(tile).bounds();
                let (x, y) = (b.min_x + u * (b.max_x - b.min_x), b.min_y + v * (b.max_y - b.min_y));
                let (x, y) = (x + 0.999 * far * reach * f64::cos(angle), y + 0.999 * far * reach * f64::sin(angle));
                let r = tile.read;
                prop_assert!(r.min_x <= x && x <= r.max_x && r.min_y <= y && y <= r.max_y);
                for (i, input) in plan.inputs().iter().enumerate() {
                    let holds = |b: Bounds| b.min_x <= x && x <= b.max_x && b.min_y <= y && y <= b.max_y;
                    if input.bounds.is_none_or(holds) {
                        prop_assert!(tile.inputs.contains(&(i as u32)));
                    }
                }
            }
        }
    }

    #[test]
    fn the_order_of_inputs_is_of_no_account(
        (inputs, shuffled) in inputs().prop_flat_map(|i| (Just(i.clone()), Just(i).prop_shuffle())),
        params in params()
    ) {
        let text = |inputs: &[Input]| planned(inputs, &params).map(|plan| plan.to_json());
        prop_assert_eq!(text(&inputs), text(&shuffled));
    }

    #[test]
    fn text_gives_the_plan_back_and_no_other(
        inputs in inputs(), params in params(), at in 0.0..1.0, byte in b' '..b'~'
    ) {
        let Some(plan) = planned(&inputs, &params) else { return Ok(()) };
        let text = plan.to_json();
        prop_assert_eq!(&Plan::from_json(&text).unwrap(), &plan);
        // The end of the last line is no part of what it says; anything less is cut short.
        let whole = text.trim_end();
        prop_assert_eq!(&Plan::from_json(whole).unwrap(), &plan);
        for end in [(at * whole.len() as f64) as usize, whole.len() - 1] {
            let error = Plan::from_json(&whole[..end]).unwrap_err().to_string();
            prop_assert!(!error.contains('\n'));
        }
        let at = (at * text.len() as f64) as usize;
        // Another byte is refused, unless it is another way to write the same.
        let mut bytes = text.clone().into_bytes();
        bytes[at] = byte;
        if let Ok(read) = Plan::from_json(std::str::from_utf8(&bytes).unwrap()) {
            prop_assert_eq!(read, plan);
        }
    }
}

fn simple() -> Params {
    let grid = GridSpec::new(0.0, 1000.0, 1.0, 1000, 1000).unwrap();
    Params::new(grid, 1 << 30, Model { fixed: 0, per_point: 1, per_cell: 1 })
}

#[test]
fn what_has_no_plan_is_named() {
    let says = |inputs: &[Input], params: Params, words: &[&str]| {
        let error = plan(inputs, &params).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word) && !error.contains('\n'), "no {word:?} in {error:?}");
        }
    };
    let reach = |reach| simple().reach("--query-radius", reach);
    says(&[], reach(Reach::Cells(f64::INFINITY)), &["--query-radius", "without limit"]);
    says(&[], reach(Reach::Ground(f64::INFINITY)), &["--query-radius", "without limit"]);
    says(&[], reach(Reach::Cells(f64::NAN)), &["--query-radius", "NaN"]);
    says(&[], reach(Reach::Cells(-1.0)), &["--query-radius", "-1"]);
    says(&[], reach(Reach::Cells(1e12)), &["--query-radius", "1000000000000"]);
    says(&[], simple().most_side(15), &["15", "16"]);
    says(
        &[Input::new("a"), Input::new("b"), Input::new("a")],
        simple(),
        &["the inputs name a twice"],
    );
    for wrong in [bounds(0.0, 0.0, -1.0, 1.0), bounds(f64::NAN, 0.0, 1.0, 1.0)] {
        says(&[Input::new("odd.laz").bounds(wrong)], simple(), &["odd.laz"]);
    }
    let params = simple().budget(100);
    says(&[], params, &["16 x 16 cells", "column 0 and row 0", "256 bytes", "100"]);
    let on_device = Model { fixed: 77, per_point: 0, per_cell: 0 };
    let params = simple().device_model(on_device).device_budget(76);
    says(&[], params, &["16 x 16 cells", "77 bytes", "memory of a device", "76"]);
    let everywhere = Input::new("a.csv").points(1 << 40);
    says(&[everywhere], simple(), &["16 x 16 cells", "1099511628032"]);
    let none = GridSpec::new(0.0, 0.0, 1.0, 0, 5).unwrap();
    says(&[], simple().grid(none), &["0 x 5"]);
}

#[test]
fn what_is_no_plan_is_refused() {
    let text = plan(&[Input::new("a.laz")], &simple()).unwrap().to_json();
    let read = |text: &str| Plan::from_json(text).unwrap_err();
    assert!(matches!(read(""), Error::Foreign { .. }));
    assert!(matches!(read("{\"type\": \"FeatureCollection\"}"), Error::Foreign { .. }));
    assert!(matches!(read(&text[..text.len() / 2]), Error::Damaged { .. }));
    assert!(matches!(read(&text.replace("a.laz", "b.laz")), Error::Damaged { .. }));
    let newer = text.replace("\"version\": 1", "\"version\": 2");
    assert!(matches!(read(&newer), Error::Newer { version: 2, known: VERSION }));
}

/// Edges beyond the greatest number would be infinite, which text cannot say.
#[test]
fn a_plan_at_the_greatest_numbers_is_read_again() {
    for (origin, side) in [(f64::MAX, 1e300), (f64::MIN, 1e306), (0.0, f64::MAX)] {
        let grid = GridSpec::new(origin, origin, side, 100, 100).unwrap();
        let model = Model { fixed: 0, per_point: 0, per_cell: 1 };
        let params = Params::new(grid, 1 << 30, model).reach("--radius", Reach::Cells(40.0));
        let far = Input::new("far.laz").bounds(bounds(f64::MIN, 0.0, f64::MAX, 1.0)).points(9);
        let plan = plan(&[far], &params.most_side(32)).unwrap();
        assert_eq!(Plan::from_json(&plan.to_json()).unwrap(), plan);
    }
}

#[test]
fn dense_ground_gets_smaller_tiles() {
    let dense = Input::new("dense.laz").bounds(bounds(0.0, 0.0, 500.0, 500.0)).points(1_000_000);
    let sparse = Input::new("sparse.laz").bounds(bounds(0.0, 0.0, 1000.0, 1000.0)).points(1000);
    let params = simple().budget(400_000);
    let plan = plan(&[dense, sparse], &params).unwrap();
    let cells = |row: u32, column: u32| {
        let holds = |t: &&Tile| {
            (t.row..t.row + t.height).contains(&row)
                && (t.column..t.column + t.width).contains(&column)
        };
        let tile = plan.tiles().iter().find(holds).unwrap();
        tile.width * tile.height
    };
    assert!(cells(10, 990) > cells(990, 10));
}

/// As of a square kilometre in millimetres: known before a tile is made.
#[test]
fn more_tiles_than_a_plan_may_have_are_refused_at_once() {
    let grid = GridSpec::new(0.0, 1000.0, 0.001, 1_000_000, 1_000_000).unwrap();
    let model = Model { fixed: 0, per_point: 0, per_cell: 1 };
    for shape in [Shape::Rectangles, Shape::Squares] {
        let params = Params::new(grid, 1 << 40, model).shape(shape);
        let started = std::time::Instant::now();
        let error = plan(&[], &params.clone().most_side(16)).unwrap_err();
        assert!(matches!(error, Error::TooMany { tiles: 3_906_250_000, .. }), "{error}");
        // Where it is the memory that asks for them.
        let small = Params::new(grid, 256, model).shape(shape);
        let error = plan(&[], &small).unwrap_err();
        assert!(matches!(error, Error::TooMany { .. }), "{error}");
        assert!(started.elapsed().as_secs() < 60);
        assert!(plan(&[], &params).is_ok());
    }
}

/// As of thousands of files that every tile reads: each tile names all of them.
#[test]
fn tiles_that_name_more_inputs_than_a_plan_holds_are_refused() {
    let inputs: Vec<Input> = (0..40_000).map(|i| Input::new(format!("{i}.csv"))).collect();
    let grid = GridSpec::new(0.0, 1024.0, 1.0, 1024, 1024).unwrap();
    let model = Model { fixed: 0, per_point: 0, per_cell: 1 };
    for shape in [Shape::Rectangles, Shape::Squares] {
        let params = Params::new(grid, 1 << 40, model).shape(shape);
        let error = plan(&inputs, &params.clone().most_side(16)).unwrap_err();
        assert!(matches!(error, Error::TooManyNamed { most: 33_554_432, .. }), "{error}");
        assert!(plan(&inputs, &params).is_ok());
    }
}
