//! Results as arrays of Arrow, without a copy. (Feature `arrow`.)

use std::sync::Arc;

use gpu_core::arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt32Type};
use gpu_core::arrow_array::{
    ArrayRef, FixedSizeListArray, LargeListArray, PrimitiveArray, UInt32Array,
};
use gpu_core::arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use gpu_core::arrow_schema::Field;

use super::{Lists, NONE, Neighbours};
use crate::Result;

/// A list of indices for each query, without a copy. (Feature `arrow`.)
///
/// # Panics
/// Where offsets do not rise, or end beyond the indices: never as a search gives them.
impl From<Lists> for LargeListArray {
    fn from(lists: Lists) -> Self {
        let count = lists.offsets.len();
        let offsets = match count {
            0 => OffsetBuffer::new_empty(),
            _ => OffsetBuffer::new(ScalarBuffer::new(Buffer::from_vec(lists.offsets), 0, count)),
        };
        let indices = Arc::new(UInt32Array::from(lists.indices));
        Self::new(item::<UInt32Type>(false), offsets, indices, None)
    }
}

impl Neighbours {
    /// Returns the indices and the distances of each place as lists of `k`, without a copy. If there are fewer than `k`
    /// points, both are null. (Feature `arrow`.)
    ///
    /// # Errors
    /// [`gpu_core::Error::TooMany`] for more neighbours of a place than a list can have: 2^31 - 1.
    pub fn into_arrow(self) -> Result<[FixedSizeListArray; 2]> {
        gpu_core::require_at_most("neighbours of a place", self.k as u64, i32::MAX as u64)?;
        let (k, places) = (self.k as i32, self.indices.len() / self.k.max(1));
        let is_there = |place: usize| self.indices[place] != NONE;
        let nulls = NullBuffer::new(BooleanBuffer::collect_bool(self.indices.len(), is_there));
        let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
        let indices = PrimitiveArray::<UInt32Type>::new(self.indices.into(), nulls.clone());
        let distances = PrimitiveArray::<Float64Type>::new(self.distances.into(), nulls);
        let lists = |field, values: ArrayRef| {
            FixedSizeListArray::try_new_with_length(field, k, values, None, places)
                .expect("k for each place")
        };
        let indices = lists(item::<UInt32Type>(true), Arc::new(indices));
        Ok([indices, lists(item::<Float64Type>(true), Arc::new(distances))])
    }
}

fn item<T: ArrowPrimitiveType>(is_nullable: bool) -> Arc<Field> {
    Arc::new(Field::new_list_field(T::DATA_TYPE, is_nullable))
}
