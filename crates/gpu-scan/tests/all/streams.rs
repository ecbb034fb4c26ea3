//! Every function on columns of another stream than its workspace's: the order is the function's
//! to keep. The software device reports work that nothing orders.

use gpu_core::{Column, DeviceChoice, DeviceGrid, Element, Gpu, GridSpec};
use gpu_scan::gpu::{self, Workspace};
use gpu_scan::{Merge, Predicate, Scan, Sort, Sum, TopK};

const N: usize = 5_000;

fn gpu() -> Gpu {
    let choice = DeviceChoice::from_env().unwrap().unwrap_or(DeviceChoice::Software);
    Gpu::open(choice).unwrap()
}

/// Columns on the stream of one handle, work on that of another.
struct Test {
    columns: Gpu,
    workspace: Workspace,
}

impl Test {
    fn new() -> Self {
        Self { columns: gpu(), workspace: Workspace::new(&gpu()).unwrap() }
    }

    /// A column that its own stream writes, after it was uploaded.
    fn column<T: Element>(&self, host: &[T]) -> Column<T> {
        let mut column = self.columns.zeroed(host.len()).unwrap();
        column.copy_from(&self.columns.upload(host).unwrap()).unwrap();
        column
    }

    fn numbers(&self) -> Column<u32> {
        self.column(&(0..N as u32).map(|i| i * 7 % 1000).collect::<Vec<_>>())
    }

    fn zeros<T: Element>(&self, len: usize) -> Column<T> {
        self.column(&vec![T::zeroed(); len])
    }

    fn offsets(&self) -> Column<u64> {
        self.column(&[0, 10, N as u64 / 2, N as u64])
    }
}

/// What is there after the call is what the call has written, and the column can go at once.
fn done<T: Element>(column: Column<T>) -> Vec<T> {
    column.to_host().unwrap()
}

/// Runs each call, reads what it wrote on the columns' own stream, and drops all columns while the
/// workspace's stream may still be at work.
macro_rules! calls {
    ($($name:ident: |$test:ident, $workspace:ident| $body:block)+) => {$(
        #[test]
        fn $name() {
            let mut test = Test::new();
            for _ in 0..2 {
                let $test = &Test { columns: test.columns.clone(), workspace: Workspace::new(&gpu()).unwrap() };
                let $workspace = &mut test.workspace;
                $body
            }
            test.workspace.gpu().synchronize().unwrap();
        }
    )+};
}

calls! {
    scans: |test, workspace| {
        let (input, mut output) = (test.numbers(), test.zeros::<u32>(N));
        gpu::scan(workspace, Sum, Scan::inclusive(), &input, &mut output).unwrap();
        gpu::scan_in_place(workspace, Sum, Scan::exclusive(0), &mut output).unwrap();
        let (keys, offsets) = (test.numbers(), test.offsets());
        gpu::scan_by_key(workspace, Sum, Scan::inclusive(), &keys, &input, &mut output).unwrap();
        gpu::scan_by_key_in_place(workspace, Sum, Scan::inclusive(), &keys, &mut output).unwrap();
        gpu::segmented_scan(workspace, Sum, Scan::inclusive(), &offsets, &input, &mut output)
            .unwrap();
        gpu::segmented_scan_in_place(workspace, Sum, Scan::inclusive(), &offsets, &mut output)
            .unwrap();
        drop((input, keys, offsets));
        assert_ne!(done(output)[N - 1], 0);
    }
    scans_of_grids: |test, workspace| {
        let grid = |column| DeviceGrid::from_column(column, GridSpec::of_pixels(100, 50)).unwrap();
        let (input, mut output) = (grid(test.numbers()), grid(test.zeros::<u32>(N)));
        gpu::scan_rows(workspace, Sum, Scan::inclusive(), &input, &mut output).unwrap();
        gpu::scan_rows_in_place(workspace, Sum, Scan::inclusive(), &mut output).unwrap();
        gpu::scan_columns(workspace, Sum, Scan::inclusive(), &input, &mut output).unwrap();
        gpu::scan_columns_in_place(workspace, Sum, Scan::inclusive(), &mut output).unwrap();
        let mut turned =
            DeviceGrid::from_column(test.zeros::<u32>(N), GridSpec::of_pixels(50, 100)).unwrap();
        gpu::transpose(workspace, &output, &mut turned).unwrap();
        drop((input, output));
        assert_ne!(done(turned.into_column())[N - 1], 0);
    }
    reductions: |test, workspace| {
        let (input, offsets) = (test.numbers(), test.offsets());
        let (mut sum, mut index) = (test.zeros::<u32>(1), test.zeros::<u64>(1));
        gpu::reduce(workspace, Sum, &input, &mut sum).unwrap();
        gpu::index_of_min(workspace, &input, &mut index).unwrap();
        gpu::index_of_max(workspace, &input, &mut index).unwrap();
        let mut totals = test.zeros::<u32>(3);
        gpu::segmented_reduce(workspace, Sum, &offsets, &input, &mut totals).unwrap();
        let (keys, mut keys_out) = (test.numbers(), test.zeros::<u32>(N));
        let (mut by_key, mut count) = (test.zeros::<u32>(N), test.zeros::<u64>(1));
        gpu::reduce_by_key(workspace, Sum, &keys, &input, &mut keys_out, &mut by_key, &mut count)
            .unwrap();
        drop((input, offsets, keys));
        assert_eq!(done(sum)[0], done(totals).iter().sum::<u32>());
        assert_eq!((done(keys_out)[0], done(count).len(), done(index).len()), (0, 1, 1));
        drop(by_key);
    }
    selections: |test, workspace| {
        let (input, flags) = (test.numbers(), test.column(&[1u8; N]));
        let (mut output, mut count) = (test.zeros::<u32>(N), test.zeros::<u64>(1));
        let small = || Predicate::less_than(500);
        gpu::select_if(workspace, small(), &input, &mut output, &mut count).unwrap();
        gpu::select_flagged(workspace, &flags, &input, &mut output, &mut count).unwrap();
        gpu::unique(workspace, &input, &mut output, &mut count).unwrap();
        let mut rest = test.zeros::<u32>(N);
        gpu::partition(workspace, small(), &input, &mut output, &mut rest, &mut count).unwrap();
        let (mut third, mut counts) = (test.zeros::<u32>(N), test.zeros::<u64>(3));
        let outputs = [(&mut output).into(), (&mut rest).into(), (&mut third).into()];
        gpu::partition_three(workspace, (100, 200), &input, outputs, &mut counts).unwrap();
        let (mut values, mut lengths) = (test.zeros::<u32>(N), test.zeros::<u32>(N));
        gpu::run_lengths(workspace, &input, &mut values, &mut lengths, &mut count).unwrap();
        drop((input, flags, output, rest, third, values));
        assert_eq!(done(counts).iter().sum::<u64>(), N as u64);
        assert_eq!((done(lengths)[0], done(count).len()), (1, 1));
    }
    sorts: |test, workspace| {
        let (keys, values, offsets) = (test.numbers(), test.numbers(), test.offsets());
        let (mut sorted, mut moved) = (test.zeros::<u32>(N), test.zeros::<u32>(N));
        let how = Sort::ascending;
        gpu::sort(workspace, how(), &keys, &mut sorted).unwrap();
        gpu::sort_in_place(workspace, how(), &mut sorted).unwrap();
        gpu::sort_pairs(workspace, how(), &keys, &values, &mut sorted, &mut moved).unwrap();
        gpu::sort_pairs_in_place(workspace, how(), &mut sorted, &mut moved).unwrap();
        gpu::argsort(workspace, how(), &keys, &mut moved).unwrap();
        gpu::sort_with_indices(workspace, how(), &keys, &mut sorted, &mut moved).unwrap();
        gpu::segmented_sort(workspace, how(), &offsets, &keys, &mut sorted).unwrap();
        gpu::segmented_sort_pairs(
            workspace, how(), &offsets, &keys, &values, &mut sorted, &mut moved,
        )
        .unwrap();
        let (mut top, mut at) = (test.zeros::<u32>(9), test.zeros::<u64>(9));
        gpu::top_k(workspace, TopK::greatest(), &keys, &mut top, &mut at).unwrap();
        drop((keys, values, offsets, moved));
        assert!(done(sorted)[..10].is_sorted());
        let mut bytes = test.column(&(0..N).map(|i| (i * 7) as u8).collect::<Vec<_>>());
        gpu::sort_in_place(workspace, how(), &mut bytes).unwrap();
        assert!(done(bytes).is_sorted());
        assert_eq!((done(top)[0], done(at).len()), (999, 9));
    }
    sorted_arrays: |test, workspace| {
        let ascending: Vec<u32> = (0..N as u32).collect();
        let (a, b) = (test.column(&ascending), test.column(&ascending));
        let (va, vb) = (test.numbers(), test.numbers());
        let (mut both, mut values) = (test.zeros::<u32>(2 * N), test.zeros::<u32>(2 * N));
        let how = Merge::ascending();
        gpu::merge_keys(workspace, how, &a, &b, &mut both).unwrap();
        gpu::merge_pairs(workspace, how, (&a, &va), (&b, &vb), (&mut both, &mut values)).unwrap();
        let mut bounds = test.zeros::<u64>(N);
        gpu::lower_bound(workspace, &a, &b, &mut bounds).unwrap();
        gpu::upper_bound(workspace, &a, &b, &mut bounds).unwrap();
        drop((a, b, va, vb, values));
        assert!(done(both).is_sorted());
        assert_eq!(done(bounds)[N - 1], N as u64);
    }
    extents: |test, workspace| {
        let numbers: Vec<f64> = (0..N).map(|i| (i * 7 % 1000) as f64).collect();
        let (x, y, z) = (test.column(&numbers), test.column(&numbers), test.column(&numbers));
        let found = gpu::extent(workspace, &x, &y, &[(&z).into()]).unwrap();
        drop((x, y, z));
        assert_eq!((found.ranges[0].min, found.ranges[0].max), (0.0, 999.0));
    }
    moves: |test, workspace| {
        let (input, mut output) = (test.numbers(), test.zeros::<u32>(N));
        gpu::fill(workspace, 7, &mut output).unwrap();
        gpu::adjacent_difference(workspace, &input, &mut output).unwrap();
        let mut indices = test.zeros::<u32>(N);
        gpu::sequence(workspace, 0, 1, &mut indices).unwrap();
        gpu::gather(workspace, &indices, &input, &mut output).unwrap();
        gpu::scatter(workspace, &indices, &input, &mut output).unwrap();
        drop((input, indices));
        assert_eq!(done(output)[1], 7);
    }
    histograms: |test, workspace| {
        let (input, bounds) = (test.numbers(), test.column(&[0u32, 10, 100]));
        let (mut counts, mut outside) = (test.zeros::<u32>(2), test.zeros::<u64>(3));
        gpu::histogram(workspace, &bounds, &input, &mut counts, &mut outside).unwrap();
        gpu::histogram_even(workspace, (0, 1000), &input, &mut counts, &mut outside).unwrap();
        drop((input, bounds));
        assert_eq!(done(counts).iter().sum::<u32>(), N as u32);
        assert_eq!(done(outside).len(), 3);
    }
}
