//! The values of points: columns of numbers, each with a name.

use std::fmt;
use std::ops::Range;

use bytemuck::Pod;
#[cfg(not(feature = "cuda"))]
use bytemuck::Pod as Storable;
use gpu_core::{host_memory, parallel};
#[cfg(feature = "cuda")]
use gpu_scan::Number as Storable;

use crate::array::Array;
use crate::{Error, NONE, Result};

/// A number that points carry: `u8`, `u16`, `u32`, `u64`, `i32`, `i64`, `f32`, `f64`.
pub trait Value: Storable + Pod + Send + Sync + sealed::Value {}

pub(crate) mod sealed {
    /// The properties of a type of values that a tree needs.
    pub trait Value {
        const TYPE: super::ValueType;
    }
}

macro_rules! value_types {
    ($($name:ident, $type:ty, $code:literal;)+) => {
        /// The type of a column of values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ValueType {
            $(#[doc = concat!("`", stringify!($type), "`.")] $name,)+
        }

        $(
            impl Value for $type {}
            impl sealed::Value for $type {
                const TYPE: ValueType = ValueType::$name;
            }
        )+

        impl ValueType {
            /// The name of the type in Rust, such as `u16`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($type),)+ }
            }

            /// Bytes of a value.
            pub fn size(self) -> usize {
                match self { $(Self::$name => size_of::<$type>(),)+ }
            }
        }

        impl Values {
            /// Returns the value of a point, by its position in the order of the tree. f64 holds it exactly, except
            /// whole numbers beyond 2^53.
            ///
            /// # Panics
            /// If there is no such point.
            pub fn at(&self, place: usize) -> f64 {
                match self.value_type { $(ValueType::$name => self.numbers::<$type>()[place] as f64,)+ }
            }
        }

        #[cfg(feature = "files")]
        impl ValueType {
            /// The number of the type in a file, which is the one that LAS 1.4 gives to such extra bytes.
            pub(crate) fn code(self) -> u32 {
                match self { $(Self::$name => $code,)+ }
            }

            /// The type of a number.
            pub(crate) fn of_code(code: u32) -> Option<Self> {
                match code { $($code => Some(Self::$name),)+ _ => None }
            }
        }
    };
}

value_types! {
    U8, u8, 1;
    U16, u16, 3;
    U32, u32, 5;
    I32, i32, 6;
    U64, u64, 7;
    I64, i64, 8;
    F32, f32, 9;
    F64, f64, 10;
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The longest name of a column of values, in bytes.
pub const MAX_NAME: usize = 1 << 16;

/// A column of values: a number for each point of a tree, in the order of the tree.
///
/// ```
/// use gpu_core::{Device, Points};
/// use quadtree_sort::{Params, ValueType, build};
///
/// let points = Points::new(&[8.0, 0.0], &[8.0, 0.0]);
/// let tree = build(&Device::Cpu, points, &Params::new().threshold(1))?.with_values("class", &[6u8, 2])?;
/// let values = &tree.values()[0];
/// assert_eq!((values.name(), values.value_type()), ("class", ValueType::U8));
/// assert_eq!(values.as_slice::<u8>(), Some(&[2, 6][..])); // in the order of the tree: south-west first
/// # Ok::<(), quadtree_sort::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    name: String,
    value_type: ValueType,
    len: usize,
    /// The numbers side by side; what fills up the last word is 0.
    words: Array<u64>,
}

impl Values {
    /// The column's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its numbers.
    pub fn value_type(&self) -> ValueType {
        self.value_type
    }

    /// Returns the name and type by which columns of two trees are alike.
    #[cfg(feature = "files")]
    pub(crate) fn kind(&self) -> (&str, ValueType) {
        (&self.name, self.value_type)
    }

    /// Returns the number of values: as many as points in the tree.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the numbers; `None` if they have another type.
    pub fn as_slice<T: Value>(&self) -> Option<&[T]> {
        (T::TYPE == self.value_type).then(|| self.numbers())
    }

    /// The numbers as a type of their size.
    pub(crate) fn numbers<B: Pod>(&self) -> &[B] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    /// The bytes of the numbers.
    #[cfg_attr(not(feature = "files"), expect(dead_code))]
    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len * self.value_type.size()]
    }

    /// A column of numbers that lie in words.
    #[cfg(feature = "files")]
    pub(crate) fn of_words(
        (name, value_type): (String, ValueType),
        len: usize,
        words: Array<u64>,
    ) -> Self {
        Self { name, value_type, len, words }
    }

    /// A column whose numbers are filled in.
    pub(crate) fn filled<B: Pod>(
        (name, value_type): (String, ValueType),
        len: usize,
        fill: impl FnOnce(&mut [B]),
    ) -> Result<Self> {
        let mut words: Vec<u64> = host_memory::zeroed((len * size_of::<B>()).div_ceil(8))?;
        fill(&mut bytemuck::cast_slice_mut(&mut words)[..len]);
        Ok(Self { name, value_type, len, words: words.into() })
    }

    /// The values of some points in their order.
    pub(crate) fn gathered<T: Value>(name: &str, order: &[u32], given: &[T]) -> Result<Self> {
        Self::filled((name.to_owned(), T::TYPE), order.len(), |values: &mut [T]| {
            parallel::for_each(values, parallel::FINE, |i, value| {
                *value = given[order[i] as usize]
            });
        })
    }
}

/// Checks a further column: its name, and its length.
pub(crate) fn check<'a>(
    name: &str,
    mut others: impl Iterator<Item = &'a str>,
    [expected, found]: [u64; 2],
) -> Result<()> {
    if name.is_empty() || name.len() > MAX_NAME || others.any(|other| other == name) {
        return Err(Error::ValuesName { name: name.chars().take(64).collect() });
    }
    if expected != found {
        return Err(gpu_core::Error::Length { what: "column of values", expected, found }.into());
    }
    Ok(())
}

/// If more than one point in this many is wanted, one pass finds the places of all points, in 4 bytes for each point
/// given. Otherwise a pass looks up each point of the tree among the wanted ones.
const SHARE: usize = 64;

/// The most points given for each point of the tree in that pass. A tree with more is a part of a larger one, and the
/// pass would take too much memory.
const MOST_GIVEN: u64 = 8;

/// Returns where each wanted point stands in an order of points, whose numbers are below `given`.
pub(crate) fn places_of(order: &[u32], given: u64, indices: &[u32]) -> Result<Vec<u32>> {
    let mut found = host_memory::filled(NONE, indices.len())?;
    let len = order.len();
    if indices.len() > len / SHARE && given <= MOST_GIVEN * len as u64 {
        let mut places = host_memory::filled(NONE, given as usize)?;
        (0..).zip(order).for_each(|(place, &point)| places[point as usize] = place);
        let place = |index: u32| places.get(index as usize).copied().unwrap_or(NONE);
        parallel::for_each(&mut found, parallel::FINE, |i, found| *found = place(indices[i]));
        return Ok(found);
    }
    let mut asked: Vec<u32> = indices.to_vec();
    asked.sort_unstable();
    asked.dedup();
    let meets = |place: usize| {
        asked.binary_search(&order[place]).is_ok().then(|| (order[place], place as u32))
    };
    let of_range = |range: Range<usize>| range.filter_map(meets).collect::<Vec<(u32, u32)>>();
    let mut met = parallel::map_ranges(len, parallel::FINE, &of_range).concat();
    met.sort_unstable();
    for (found, index) in found.iter_mut().zip(indices) {
        if let Ok(at) = met.binary_search_by_key(index, |&(point, _)| point) {
            *found = met[at].1;
        }
    }
    Ok(found)
}
