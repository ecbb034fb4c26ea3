//! Files on web servers, read in parts by HTTP ranges (RFC 9110).
//!
//! The first request reads the head of the file, which also tells its length and version (`ETag`, else
//! `Last-Modified`). Every further response must have the same length and version: a file that changes in between is an
//! error, not a mixture. Small reads, such as directories, come from cached blocks; large reads, such as tiles, are
//! separate requests.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tiff_reader::source::TiffSource;
use ureq::http::{Response, header};
use ureq::{Agent, Body};

use crate::{Error, Result};

/// Bytes of the head, and of a block that is kept.
const BLOCK: u64 = 1 << 16;

/// The longest read that is taken from blocks.
const SMALL: u64 = 1 << 14;

/// Blocks that are kept.
const KEPT: usize = 16;

/// How often a request is sent whose answer is cut short or does not come.
const ATTEMPTS: usize = 3;

/// A file on a web server.
pub(crate) struct Remote {
    path: PathBuf,
    url: String,
    agent: Agent,
    length: u64,
    version: Option<String>,
    blocks: Mutex<VecDeque<(u64, Vec<u8>)>>,
}

/// The bytes of a part, and the length and the version of the file.
type Answer = (Vec<u8>, (u64, Option<String>));

impl Remote {
    /// Requests the head of a file.
    ///
    /// # Errors
    /// The server's error, or that it does not send parts of files; [`Error::Empty`].
    pub fn open(path: &Path) -> Result<Self> {
        let url = path.to_string_lossy().into_owned();
        let config = Agent::config_builder()
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_global(Some(Duration::from_secs(300)))
            .http_status_as_error(false)
            .build();
        let (agent, blocks) = (config.into(), Mutex::default());
        let mut remote =
            Self { path: path.to_owned(), url, agent, length: 0, version: None, blocks };
        let (head, about) = remote.ask(0, BLOCK, None).map_err(|e| Error::read(path, e))?;
        if about.0 == 0 {
            return Err(Error::Empty { path: path.to_owned() });
        }
        (remote.length, remote.version) = (about.0, about.1);
        remote.keep(0, head);
        Ok(remote)
    }

    /// The length of the file in bytes, and a number that another version does not have.
    pub fn version(&self) -> (u64, u64) {
        let version = self.version.as_deref().unwrap_or_default();
        (self.length, crc32fast::hash(version.as_bytes()).into())
    }

    /// Asks for a part, again if the answer is cut short.
    fn ask(&self, start: u64, length: u64, whole: Option<u64>) -> io::Result<Answer> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.ask_once(start, length, whole) {
                Err(Failure::Passing(_)) if attempts < ATTEMPTS => {}
                Err(Failure::Passing(error) | Failure::Final(error)) => return Err(error),
                Ok(answer) => return Ok(answer),
            }
        }
    }

    fn ask_once(&self, start: u64, length: u64, whole: Option<u64>) -> Result<Answer, Failure> {
        let end = whole.map_or(start + length, |whole| whole.min(start + length));
        let range = format!("bytes={start}-{}", end - 1);
        // A packed answer has other bytes.
        let request =
            self.agent.get(&self.url).header("Range", range).header("Accept-Encoding", "identity");
        let response = request.call().map_err(|e| Failure::of(&e))?;
        let status = response.status().as_u16();
        match status {
            206 => {}
            200 => {
                return Err(Failure::said(
                    "the server sends whole files only: download the file first",
                ));
            }
            // An empty file has no parts.
            416 if whole.is_none() => return Ok((Vec::new(), (0, None))),
            500.. => {
                return Err(Failure::Passing(io::Error::other(format!(
                    "the server answers with HTTP status {status}"
                ))));
            }
            _ => return Err(Failure::said(&format!("HTTP status {}", response.status()))),
        }
        let (first, last, total) = content_range(&response).ok_or_else(|| {
            Failure::said("the server does not say which part of the file it sends")
        })?;
        let version =
            [header::ETAG, header::LAST_MODIFIED].iter().find_map(|name| text_of(&response, name));
        if whole.is_some_and(|whole| whole != total || self.version != version) {
            return Err(Failure::said("it has changed on the server since the first request"));
        }
        if first != start || last + 1 != end.min(total) {
            return Err(Failure::said("the server sends a part of the file that nobody requested"));
        }
        let expected = last + 1 - first;
        let mut bytes = Vec::new();
        let body = response.into_body().into_reader();
        body.take(expected).read_to_end(&mut bytes).map_err(Failure::Passing)?;
        if bytes.len() as u64 != expected {
            let reason = format!("{} of {expected} bytes came", bytes.len());
            return Err(Failure::Passing(io::Error::other(reason)));
        }
        Ok((bytes, (total, version)))
    }

    /// Reads bytes of the file from a position on.
    pub fn read(&self, start: u64, length: u64) -> io::Result<Vec<u8>> {
        if start.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(io::Error::other(format!(
                "its {} bytes end before the requested part",
                self.length
            )));
        }
        if length > SMALL && self.kept(start, length).is_none() {
            return Ok(self.ask(start, length, Some(self.length))?.0);
        }
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < length {
            let at = start + bytes.len() as u64;
            let block = at / BLOCK * BLOCK;
            let wanted = (length - bytes.len() as u64).min(block + BLOCK - at);
            match self.kept(at, wanted) {
                Some(part) => bytes.extend(part),
                None => {
                    let content = self.ask(block, BLOCK, Some(self.length))?.0;
                    self.keep(block, content);
                }
            }
        }
        Ok(bytes)
    }

    /// A part of a block that is kept.
    fn kept(&self, start: u64, length: u64) -> Option<Vec<u8>> {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.iter().find_map(|(first, bytes)| {
            let from = usize::try_from(start.checked_sub(*first)?).ok()?;
            bytes.get(from..from.checked_add(length as usize)?).map(<[u8]>::to_vec)
        })
    }

    fn keep(&self, start: u64, bytes: Vec<u8>) {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if blocks.len() == KEPT {
            // The head stays.
            blocks.remove(1);
        }
        blocks.push_back((start, bytes));
    }
}

impl TiffSource for Remote {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&self, offset: u64, len: usize) -> tiff_reader::error::Result<Vec<u8>> {
        let failed = |e| tiff_reader::error::Error::Io(e, self.path.display().to_string());
        self.read(offset, len as u64).map_err(failed)
    }
}

/// Why a request failed.
enum Failure {
    /// Another may succeed.
    Passing(io::Error),
    Final(io::Error),
}

impl Failure {
    fn said(reason: &str) -> Self {
        Self::Final(io::Error::other(reason.to_owned()))
    }

    fn of(error: &ureq::Error) -> Self {
        let reason = io::Error::other(error.to_string());
        match error {
            ureq::Error::Io(_) | ureq::Error::Timeout(_) | ureq::Error::ConnectionFailed => {
                Self::Passing(reason)
            }
            _ => Self::Final(reason),
        }
    }
}

fn text_of(response: &Response<Body>, name: &header::HeaderName) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}

/// The first and the last byte of an answer, and the length of the whole.
fn content_range(response: &Response<Body>) -> Option<(u64, u64, u64)> {
    let text = text_of(response, &header::CONTENT_RANGE)?;
    let (part, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = part.split_once('-')?;
    let (first, last, total) = (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
    (first <= last && last < total).then_some((first, last, total))
}
