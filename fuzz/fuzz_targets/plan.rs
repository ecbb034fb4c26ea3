//! Plans of tiles as text, and made of odd parameters: whatever is planned covers its grid once.
#![no_main]

use arbitrary::Arbitrary;
use gpu_core::{Bounds, GridSpec};
use libfuzzer_sys::fuzz_target;
use tessera_fuzz::Coordinate;
use tile_plan::{Input, Model, Params, Plan, Reach, plan};

#[derive(Arbitrary, Debug)]
struct Case {
    text: String,
    origin: [Coordinate; 2],
    cell_size: Coordinate,
    sides: [u16; 2],
    inputs: Vec<([Coordinate; 4], u32)>,
    budget: u64,
    reach: Coordinate,
    most_side: Option<u16>,
}

fuzz_target!(|case: Case| {
    let _ = Plan::from_json(&case.text);
    let [x, y] = case.origin.map(Coordinate::get);
    let [width, height] = case.sides.map(u32::from);
    let Ok(grid) = GridSpec::new(x, y, case.cell_size.get(), width, height) else { return };
    let inputs: Vec<Input> = case
        .inputs
        .iter()
        .take(8)
        .enumerate()
        .map(|(i, (sides, points))| {
            let [min_x, min_y, max_x, max_y] = sides.map(Coordinate::get);
            let bounds = Bounds { min_x, min_y, max_x, max_y };
            Input::new(format!("{i}.las")).bounds(bounds).points((*points).into())
        })
        .collect();
    let model = Model { fixed: 1 << 10, per_point: 24, per_cell: 8 };
    // A tile of fewer bytes than this would make more tiles than an input may take time.
    let budget = case.budget.max(1 << 20);
    let params = Params::new(grid, budget, model)
        .reach("--reach", Reach::Cells(case.reach.get()))
        .most_side(case.most_side.map(|side| u32::from(side.max(256))));
    if let Ok(plan) = plan(&inputs, &params) {
        let cells: u64 = plan.tiles().iter().map(|tile| plan.grid_of(tile).cells()).sum();
        assert!(cells >= grid.cells(), "tiles leave cells out");
        let again = Plan::from_json(&plan.to_json()).expect("a plan reads what it wrote");
        assert_eq!(again.id(), plan.id());
    }
});
