//! The operators of reductions and scans, and the order of keys: the same code on the host and the
//! device.
//!
//! Many element types differ only in how their bits are read: a sum of `i32` has the bits of a sum of `u32`. The least
//! element of any type is the least unsigned integer after an [`Order`] has mapped the elements. So kernels are built
//! for few types, and parameters carry the rest.

use device_std::scalar::Scalar;

/// In the `mode` of a scan: element i gets the combination of those before it, not with it.
pub const EXCLUSIVE: u32 = 1;
/// In the `mode` of a scan: from the last element to the first.
pub const BACKWARD: u32 = 2;

/// An associative operator with an identity, over elements as kernels see them.
///
/// `combine` need not commute: its left operand comes first.
pub trait Operator<T>: Copy {
    /// Whether the grouping of operands changes no bit of the result.
    const ASSOCIATIVE: bool;
    /// The operator for these parameters, which the host makes.
    fn new(parameters: [u64; 4]) -> Self;
    /// Leaves any value unchanged that it is combined with.
    fn identity(self) -> T;
    /// The combination of `a` and, after it, `b`.
    fn combine(self, a: T, b: T) -> T;
    /// Turns an element of the column into a value to combine.
    fn lift(self, element: T) -> T;
    /// Turns a combined value into an element of the column.
    fn lower(self, value: T) -> T;
}

/// The combination since the last head (the start of a segment), and whether there was a head. Without segments
/// `closed` is always false and costs nothing.
#[derive(Clone, Copy)]
pub struct Partial<T> {
    /// The combination.
    pub value: T,
    /// Whether it begins at a head, so that nothing comes before it.
    pub closed: bool,
}

impl<T: Copy> Partial<T> {
    /// This and, after it, `next`.
    #[inline(always)]
    pub fn then<O: Operator<T>>(self, operator: O, next: Self) -> Self {
        Self {
            value: if next.closed { next.value } else { operator.combine(self.value, next.value) },
            closed: self.closed | next.closed,
        }
    }
}

/// The sum; integers wrap. The identity is +0.
#[derive(Clone, Copy)]
pub struct Sum;

macro_rules! sums {
    ($($type:ty, $associative:literal, $add:expr;)+) => {$(
        impl Operator<$type> for Sum {
            const ASSOCIATIVE: bool = $associative;
            #[inline(always)]
            fn new(_: [u64; 4]) -> Self {
                Self
            }
            #[inline(always)]
            fn identity(self) -> $type {
                0 as $type
            }
            #[inline(always)]
            fn combine(self, a: $type, b: $type) -> $type {
                let add: fn($type, $type) -> $type = $add;
                add(a, b)
            }
            #[inline(always)]
            fn lift(self, element: $type) -> $type {
                element
            }
            #[inline(always)]
            fn lower(self, value: $type) -> $type {
                value
            }
        }
    )+};
}

sums! {
    u8, true, |a, b| a.wrapping_add(b);
    u16, true, |a, b| a.wrapping_add(b);
    u32, true, |a, b| a.wrapping_add(b);
    u64, true, |a, b| a.wrapping_add(b);
    f32, false, |a, b| a + b;
    f64, false, |a, b| a + b;
}

/// Unsigned integers: the bits of an element.
pub trait Bits: Scalar + Ord {
    /// All bits set.
    const ONES: Self;
    /// All bits equal to the highest.
    fn sign(self) -> Self;
    /// `self ^ mask`.
    fn xor(self, mask: Self) -> Self;
    /// `self & mask`.
    fn and(self, mask: Self) -> Self;
    /// `self + other`, wrapping.
    fn plus(self, other: Self) -> Self;
    /// `self - other`, wrapping.
    fn minus(self, other: Self) -> Self;
}

macro_rules! bits {
    ($($type:ty, $signed:ty;)+) => {$(
        impl Bits for $type {
            const ONES: Self = <$type>::MAX;
            #[inline(always)]
            fn sign(self) -> Self {
                (self as $signed >> (<$type>::BITS - 1)) as $type
            }
            #[inline(always)]
            fn xor(self, mask: Self) -> Self {
                self ^ mask
            }
            #[inline(always)]
            fn and(self, mask: Self) -> Self {
                self & mask
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )+};
}

bits! { u8, i8; u16, i16; u32, i32; u64, i64; }

/// A bijection from the bits of an element to unsigned integers in the element's order.
///
/// `rank(u) = ((u ^ (sign(u) & magnitude | top)) - shift) ^ flip`, where `sign(u)` is all ones for a negative number.
/// `magnitude` is 0 for integers, and the bits below the sign for floats. `top` is the sign bit, or 0 for unsigned
/// integers. After these two, negative NaNs come before minus infinity and positive NaNs after plus infinity; `shift`
/// turns the ring of ranks so that all NaNs are at one end. `flip`, all ones, reverses the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order<B> {
    /// See [`Order`].
    pub magnitude: B,
    /// See [`Order`].
    pub top: B,
    /// See [`Order`].
    pub shift: B,
    /// See [`Order`].
    pub flip: B,
}

impl<B: Bits> Order<B> {
    /// Makes the operator from the words that a launch passes.
    #[inline(always)]
    pub fn new([magnitude, top, shift, flip]: [u64; 4]) -> Self {
        Self {
            magnitude: B::from_bits64(magnitude),
            top: B::from_bits64(top),
            shift: B::from_bits64(shift),
            flip: B::from_bits64(flip),
        }
    }

    /// The parameters of [`Order::new`].
    pub fn parameters(self) -> [u64; 4] {
        [self.magnitude, self.top, self.shift, self.flip].map(B::to_bits64)
    }

    /// Whether elements are their own ranks: unsigned integers, ascending.
    #[inline(always)]
    pub fn is_plain(self) -> bool {
        let zero = B::from_bits64(0);
        self.magnitude == zero && self.top == zero && self.shift == zero && self.flip == zero
    }

    /// The rank of an element: less for what comes earlier.
    #[inline(always)]
    pub fn rank(self, bits: B) -> B {
        bits.xor(bits.sign().and(self.magnitude).xor(self.top)).minus(self.shift).xor(self.flip)
    }

    /// The element of a rank.
    #[inline(always)]
    pub fn element(self, rank: B) -> B {
        let turned = rank.xor(self.flip).plus(self.shift);
        // If the sign bit was flipped, a negative number has it clear now.
        let sign = turned.xor(self.top).sign();
        turned.xor(sign.and(self.magnitude).xor(self.top))
    }
}

/// The first number in an order in which NaNs are last. NaNs count as the infinity before them, which is also the
/// identity.
#[derive(Clone, Copy)]
pub struct Least<B> {
    order: Order<B>,
    last: B,
}

impl<B: Bits> Operator<B> for Least<B> {
    const ASSOCIATIVE: bool = true;
    #[inline(always)]
    fn new(parameters: [u64; 4]) -> Self {
        let order = Order::<B>::new(parameters);
        // The shift is the number of NaNs of one sign, up or down.
        let sign = order.shift.sign();
        let nans = order.shift.xor(sign).minus(sign);
        Self { order, last: B::ONES.minus(nans).minus(nans) }
    }
    #[inline(always)]
    fn identity(self) -> B {
        self.last
    }
    #[inline(always)]
    fn combine(self, a: B, b: B) -> B {
        if b < a { b } else { a }
    }
    #[inline(always)]
    fn lift(self, element: B) -> B {
        self.combine(self.order.rank(element), self.last)
    }
    #[inline(always)]
    fn lower(self, value: B) -> B {
        self.order.element(value)
    }
}

/// The last valid element; the canonical invalid one if there is none yet. It does not commute.
///
/// An element is invalid if `(bits & mask) - low`, wrapping, is at most `span`: one bit pattern
/// with a full mask and no span, every NaN with the sign masked away.
#[derive(Clone, Copy)]
pub struct Last<B> {
    mask: B,
    low: B,
    span: B,
    invalid: B,
}

impl<B: Bits> Last<B> {
    #[inline(always)]
    fn is_invalid(self, bits: B) -> bool {
        bits.and(self.mask).minus(self.low) <= self.span
    }
}

impl<B: Bits> Operator<B> for Last<B> {
    const ASSOCIATIVE: bool = true;
    #[inline(always)]
    fn new([mask, low, span, invalid]: [u64; 4]) -> Self {
        Self {
            mask: B::from_bits64(mask),
            low: B::from_bits64(low),
            span: B::from_bits64(span),
            invalid: B::from_bits64(invalid),
        }
    }
    #[inline(always)]
    fn identity(self) -> B {
        self.invalid
    }
    #[inline(always)]
    fn combine(self, a: B, b: B) -> B {
        if b == self.invalid { a } else { b }
    }
    #[inline(always)]
    fn lift(self, element: B) -> B {
        if self.is_invalid(element) { self.invalid } else { element }
    }
    #[inline(always)]
    fn lower(self, value: B) -> B {
        value
    }
}
