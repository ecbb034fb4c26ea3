//! Exact arithmetic: every f64 is a whole number of 2^-1074.

use num_bigint::{BigInt, Sign};

/// A place.
pub type P = [f64; 2];

/// A number in units of 2^-1074.
fn whole(value: f64) -> BigInt {
    let bits = value.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as u32, bits & ((1 << 52) - 1));
    let magnitude = match biased {
        0 => BigInt::from(fraction),
        _ => BigInt::from(fraction | 1 << 52) << (biased - 1),
    };
    if value < 0.0 { -magnitude } else { magnitude }
}

fn way(from: P, to: P) -> [BigInt; 2] {
    [whole(to[0]) - whole(from[0]), whole(to[1]) - whole(from[1])]
}

fn sign(value: &BigInt) -> i32 {
    match value.sign() {
        Sign::Minus => -1,
        Sign::NoSign => 0,
        Sign::Plus => 1,
    }
}

/// On which side of the line from `a` to `b` the place `c` lies.
pub fn orientation(a: P, b: P, c: P) -> i32 {
    let ([bx, by], [cx, cy]) = (way(a, b), way(a, c));
    sign(&(bx * cy - by * cx))
}

/// On which side of the circle through three places `d` lies.
pub fn in_circle(a: P, b: P, c: P, d: P) -> i32 {
    let [a, b, c] = [a, b, c].map(|place| way(d, place));
    let term = |p: &[BigInt; 2], q: &[BigInt; 2], r: &[BigInt; 2]| {
        (&p[0] * &p[0] + &p[1] * &p[1]) * (&q[0] * &r[1] - &q[1] * &r[0])
    };
    sign(&(term(&a, &b, &c) + term(&b, &c, &a) + term(&c, &a, &b)))
}

/// Which of `a` and `b` is nearer to `p`.
pub fn nearer(p: P, a: P, b: P) -> i32 {
    let square = |q: P| {
        let [x, y] = way(p, q);
        &x * &x + &y * &y
    };
    sign(&(square(b) - square(a)))
}
