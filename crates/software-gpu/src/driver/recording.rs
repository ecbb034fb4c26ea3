//! The work that a stream records while it captures, and how its uses of memory are ordered with other streams.

use super::{Code, Outcome, context};
use crate::memory::{self, Used};
use crate::report::{Kind, Report};

/// One piece of work, told the stream that it runs on; it does the same on every call.
type Node = Box<dyn Fn(usize) -> Outcome + Send + Sync>;

/// The work that was enqueued on a stream while it captured, in order.
#[derive(Default)]
pub(super) struct Recording {
    nodes: Vec<Node>,
    /// The memory that was allocated, and whether it was freed again.
    memory: Vec<(u64, bool)>,
}

impl Recording {
    pub(super) fn push(&mut self, node: impl Fn(usize) -> Outcome + Send + Sync + 'static) {
        self.nodes.push(Box::new(node));
    }

    /// Records an allocation.
    pub(super) fn allocate(&mut self, size: usize) -> Result<u64, Code> {
        let address = memory::reserve(size, context::current()?)?;
        self.memory.push((address, false));
        self.push(move |stream| {
            memory::revive(address)?;
            in_order(&Used::whole(address), stream, "an allocation of a graph")
        });
        Ok(address)
    }

    /// Records a free, which must be of memory allocated in the same recording.
    pub(super) fn free(&mut self, address: u64) -> Outcome {
        let Some((_, freed)) = self.memory.iter_mut().find(|m| **m == (address, false)) else {
            let message = format!(
                "a free of {address:#x} while the stream captures, where no memory begins that \
                 the capture has allocated and not freed"
            );
            Report::new(Kind::Range, message).file();
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        };
        *freed = true;
        self.push(move |stream| free_now(stream, address));
        Ok(())
    }

    /// Does everything, in order, up to the first fault.
    pub(super) fn run(&self, stream: usize, auto_free: bool) -> Outcome {
        for (address, _) in &self.memory {
            if memory::is_device(*address) {
                if !auto_free {
                    return Err(Code::CUDA_ERROR_INVALID_VALUE);
                }
                free_now(stream, *address)?;
            }
        }
        self.nodes.iter().try_for_each(|node| node(stream))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.memory.iter().for_each(|(address, _)| memory::unreserve(*address));
    }
}

/// Checks the order of work on a stream with the other streams' use of the same memory.
pub(super) fn in_order(used: &Used, stream: usize, what: &str) -> Outcome {
    used.on(stream, what).map_err(|report: Report| {
        report.file();
        Code::CUDA_ERROR_INVALID_VALUE
    })
}

/// Frees memory in a stream's order.
pub(super) fn free_now(stream: usize, address: u64) -> Outcome {
    let ordered = in_order(&Used::whole(address), stream, "a free");
    memory::free(address)?;
    ordered
}
