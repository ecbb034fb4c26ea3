//! The neighbours of the targets of a block, in shared memory once they are known.

use device_std::shared::SharedArray;

use super::results::Neighbours;

/// A list of neighbours for each of some threads, nearest first.
#[derive(Clone, Copy)]
pub struct Lists {
    /// Squared distances.
    pub squared: SharedArray<f64>,
    /// The points' indices.
    pub index: SharedArray<u32>,
    /// How many threads have a list.
    pub threads: u32,
    /// Which of them this thread is.
    pub thread: u32,
}

impl Lists {
    /// Where the thread keeps neighbour `i`.
    #[inline(always)]
    pub fn slot(self, i: u32) -> u32 {
        i * self.threads + self.thread
    }

    /// Keeps neighbour `i`.
    ///
    /// # Safety
    /// The list has a slot `i`.
    #[inline(always)]
    pub unsafe fn store(self, i: u32, squared: f64, index: u32) {
        // SAFETY: the slot is the thread's own, and there is one, as the caller says.
        unsafe {
            self.squared.store(self.slot(i), squared);
            self.index.store(self.slot(i), index);
        }
    }

    /// The neighbours in the thread's list.
    #[inline(always)]
    pub fn holding(self, found: u32, min_points: u32) -> Listed {
        Listed { lists: self, found, are_enough: found > 0 && found >= min_points }
    }
}

/// The neighbours in a thread's list.
#[derive(Clone, Copy)]
pub struct Listed {
    lists: Lists,
    found: u32,
    are_enough: bool,
}

impl Neighbours for Listed {
    #[inline(always)]
    fn are_enough(&self) -> bool {
        self.are_enough
    }

    #[inline(always)]
    unsafe fn visit(&self, mut see: impl FnMut(f64, u32)) {
        let lists = self.lists;
        let mut i = 0;
        while i < self.found {
            // SAFETY: slots are the thread's own.
            unsafe { see(lists.squared.load(lists.slot(i)), lists.index.load(lists.slot(i))) };
            i += 1;
        }
    }
}
