//! The bytes of chunks that several cores decode. For a file on a server, adjacent chunks come in one request.

use std::io;
use std::sync::{Mutex, PoisonError};

use crate::points::chunk::Chunk;
use crate::source::Source;

/// Bytes of chunks that come in one request, unless one chunk has more.
const REQUEST: u64 = 1 << 21;

/// Bytes between two chunks that are requested with them: another request takes longer.
const GAP: u64 = 1 << 16;

/// The bytes of some chunks of a file.
pub(super) struct Packed {
    source: Source,
    /// Empty for a file of this machine.
    requests: Vec<Request>,
}

/// Chunks that come in one request.
struct Request {
    start: u64,
    end: u64,
    state: Mutex<State>,
}

/// The bytes of a request's chunks, from the first of them that is taken to the last.
struct State {
    bytes: Option<Vec<u8>>,
    /// Chunks that are still to be taken.
    left: usize,
}

impl Packed {
    /// Prepares to read some chunks. Each chunk can be taken once.
    pub fn new(source: Source, chunks: &[Chunk]) -> Self {
        let requests = if source.is_remote() { requests(chunks) } else { Vec::new() };
        Self { source, requests }
    }

    /// Returns the bytes of a chunk. The first chunk of a request waits for its answer, and so do the others.
    pub fn of(&self, chunk: &Chunk) -> io::Result<Vec<u8>> {
        let at = self.requests.partition_point(|request| request.end <= chunk.offset);
        let Some(request) = self.requests.get(at) else {
            return self.source.read_at(chunk.offset, chunk.bytes);
        };
        let mut state = request.state.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = match state.bytes.take() {
            Some(bytes) => bytes,
            None => self.source.read_at(request.start, request.end - request.start)?,
        };
        let from = chunk.offset.checked_sub(request.start).map(|from| from as usize);
        let part = from.and_then(|from| bytes.get(from..from + chunk.bytes as usize));
        let part = part.ok_or(io::ErrorKind::UnexpectedEof)?.to_vec();
        state.left = state.left.saturating_sub(1);
        state.bytes = (state.left > 0).then_some(bytes);
        Ok(part)
    }
}

/// The requests for some chunks in the order of the file.
fn requests(chunks: &[Chunk]) -> Vec<Request> {
    let mut all: Vec<(u64, u64, usize)> = Vec::new();
    for chunk in chunks {
        let end = chunk.offset + chunk.bytes;
        match all.last_mut() {
            Some((start, until, count))
                if chunk.offset >= *until
                    && chunk.offset - *until <= GAP
                    && end - *start <= REQUEST =>
            {
                (*until, *count) = (end, *count + 1);
            }
            _ => all.push((chunk.offset, end, 1)),
        }
    }
    let request = |(start, end, left)| {
        let state = Mutex::new(State { bytes: None, left });
        Request { start, end, state }
    };
    all.into_iter().map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_next_to_each_other_are_one_request() {
        let chunk = |(offset, bytes)| Chunk { offset, bytes, points: 1, square: None };
        let most = REQUEST;
        for (chunks, expected) in [
            (vec![], vec![]),
            (vec![(10, 5), (15, 5), (20, 1)], vec![(10, 21, 3)]),
            (
                vec![(0, 5), (5 + GAP, 5), (11 + 2 * GAP, 5)],
                vec![(0, 10 + GAP, 2), (11 + 2 * GAP, 16 + 2 * GAP, 1)],
            ),
            (
                vec![(0, most - 1), (most - 1, 1), (most, 1)],
                vec![(0, most, 2), (most, most + 1, 1)],
            ),
            (
                vec![(7, 3 * most), (7 + 3 * most, 1)],
                vec![(7, 7 + 3 * most, 1), (7 + 3 * most, 8 + 3 * most, 1)],
            ),
        ] {
            let chunks: Vec<Chunk> = chunks.into_iter().map(chunk).collect();
            let found: Vec<(u64, u64, usize)> = requests(&chunks)
                .iter()
                .map(|r| (r.start, r.end, r.state.lock().unwrap().left))
                .collect();
            assert_eq!(found, expected);
        }
    }
}
