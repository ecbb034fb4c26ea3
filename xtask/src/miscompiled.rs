//! PTX that assemblers are known to get wrong.
//!
//! ptxas of CUDA 12.8 to 13.3 makes one instruction of the greatest (or least) of three integers, and forgets that one
//! of them is negated. From sm_90 up, `max(max(-a, b), c)` becomes `max(max(a, b), c)`
//! (<https://github.com/pytorch/pytorch/issues/190973>). No test without a GPU can show this, since only a GPU executes
//! machine code. So kernels must not have this pattern.

use std::collections::{BTreeMap, BTreeSet};

/// A `min` or `max` of two registers or numbers.
struct Extreme<'a> {
    operation: &'a str,
    result: &'a str,
    operands: [&'a str; 2],
}

impl<'a> Extreme<'a> {
    /// Reads a line such as `max.s32 %r3, %r1, %r2;`.
    fn of_line(line: &'a str) -> Option<Self> {
        let (operation, rest) = line.trim().strip_suffix(';')?.split_once(char::is_whitespace)?;
        let is_extreme = ["min.s32", "max.s32"].contains(&operation);
        let mut operands = rest.split(',').map(str::trim);
        let result = operands.next()?;
        let operands = [operands.next()?, operands.next()?];
        is_extreme.then_some(Self { operation, result, operands })
    }
}

/// The kernels that take an extreme of three with one negated, each with the line.
pub fn negated_extremes(text: &str) -> Vec<String> {
    let kernels = text.split(".entry ").skip(1);
    kernels.flat_map(negated_extremes_of_kernel).collect()
}

fn negated_extremes_of_kernel(kernel: &str) -> Vec<String> {
    let name = kernel.split('(').next().unwrap_or(kernel);
    let (mut negated, mut extremes) = (BTreeSet::new(), BTreeMap::new());
    for line in kernel.lines() {
        if let Some(rest) = line.trim().strip_prefix("neg.s32") {
            negated.extend(rest.split(',').next().map(str::trim));
        } else if let Some(extreme) = Extreme::of_line(line) {
            extremes.insert(extreme.result, extreme);
        }
    }
    let is_wrong = |outer: &&Extreme| {
        let [a, b] = outer.operands;
        [(a, b), (b, a)].into_iter().any(|(inner, other)| {
            extremes.get(inner).is_some_and(|inner| {
                let is_another = inner.result != outer.result;
                let [c, d] = inner.operands;
                let is_negated = [other, c, d].iter().any(|operand| negated.contains(operand));
                is_another && inner.operation == outer.operation && is_negated
            })
        })
    };
    let wrong = extremes.values().filter(is_wrong);
    let message = |Extreme { operation, result, .. }: &Extreme| {
        format!("{name}: {operation} {result} is of three with one negated, which ptxas gets wrong")
    };
    wrong.map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::negated_extremes;

    #[test]
    fn extremes_of_three_with_one_negated_are_found() {
        let kernel = |body: &str| format!(".visible .entry m__f(\n)\n{{\n{body}\n}}\n");
        let faults = |body: &str| negated_extremes(&kernel(body)).len();
        let negation = "\tneg.s32 \t%r2, %r1;\n";
        let inner = "\tmax.s32 \t%r4, %r2, %r3;\n";
        let outer = "\tmax.s32 \t%r6, %r5, %r4;\n";
        assert_eq!(faults(&[negation, inner, outer].concat()), 1);
        assert_eq!(
            faults(&[negation, "\tmax.s32 %r4, %r3, %r7;\n\tmax.s32 %r6, %r2, %r4;"].concat()),
            1
        );
        assert_eq!(faults(&[inner, outer].concat()), 0);
        assert_eq!(faults(&[negation, inner].concat()), 0);
        assert_eq!(faults(&[negation, inner, "\tmin.s32 %r6, %r5, %r4;"].concat()), 0);
        // A loop's own register is no second extreme.
        assert_eq!(faults(&[negation, "\tmax.s32 \t%r3, %r2, %r3;"].concat()), 0);
    }
}
