//! Device memory: the live allocations, and checks for writes beside them.
//!
//! An allocation lies between two red zones of a known pattern. Fresh memory holds a poison: a NaN in both float widths
//! and a large number in every integer width. Freed memory holds another poison, and waits in quarantine before the
//! host gets it back. The device checks the patterns where a program would see an error: at synchronisations, at a
//! free, and after a launch for the launch's memory.
//!
//! Host memory that a program lends the device has neither zones nor poison.
//!
//! While a launch runs, its memory is *busy*: only that launch checks it, at its end. So the report of a stray write
//! names the kernel that made it, not another host thread that happens to synchronise.

use crate::order::{Access, History, Reach, Use};
use crate::report::{Kind, Report};
use crate::settings::{self, MAX_DEVICES};
use std::alloc::{Layout, alloc, dealloc};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a red zone; also the alignment of an allocation, as on a GPU.
const RED_ZONE: usize = 256;
/// The pattern of red zones.
const RED: u32 = 0xa5c3_96e1;
/// The pattern of fresh memory.
pub(crate) const FRESH: u32 = 0xfffa_5a5a;
/// The pattern of freed memory.
const FREED: u32 = 0x7ffd_dead;
/// Most bytes and allocations in quarantine. Larger allocations are released at once.
const QUARANTINE_BYTES: usize = 4 << 20;
const QUARANTINE_LEN: usize = 256;

/// Why memory cannot be had, or is not as it was left.
#[derive(Debug)]
pub(crate) enum Refused {
    /// There is less left.
    OutOfMemory,
    /// The call makes no sense; it was reported.
    Invalid,
    /// Something wrote where it must not; it was reported.
    Damaged,
}

/// Who gives an allocation back.
const BY_PROGRAM: u8 = 0;
/// A graph keeps it reserved: it is there, or it is not (not yet, or not any more).
const RESERVED: u8 = 1;
const ABSENT: u8 = 2;

/// One allocation; its memory goes back to the host with the last reference.
pub(crate) struct Allocation {
    base: *mut u8,
    size: usize,
    /// Whose memory it is.
    device: usize,
    /// The block with its red zones; none for memory that a program lends.
    layout: Option<Layout>,
    /// Running launches that were given it.
    busy: AtomicUsize,
    owner: AtomicU8,
    /// Whether it came from the pool: then its release waits for nothing by itself.
    pooled: AtomicBool,
    history: Mutex<History>,
}

// SAFETY: the pointer is to memory that only this value frees; what is in it belongs to the
// programs and kernels that use it.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Allocation {
    fn new(size: usize, device: usize) -> Option<Self> {
        let bytes = size.checked_next_multiple_of(4)?.checked_add(2 * RED_ZONE)?;
        let layout = Layout::from_size_align(bytes, RED_ZONE).ok()?;
        // SAFETY: the layout is not empty.
        let base = unsafe { alloc(layout) };
        if base.is_null() {
            return None;
        }
        let (busy, owner) = (AtomicUsize::new(0), AtomicU8::new(BY_PROGRAM));
        let (pooled, history) = (AtomicBool::new(false), Mutex::default());
        let layout = Some(layout);
        let new = Self { base, size, device, layout, busy, owner, pooled, history };
        new.fill(0, RED_ZONE, RED);
        new.fill(RED_ZONE, size.next_multiple_of(4), FRESH);
        new.fill_tail();
        Some(new)
    }

    /// Memory that a program lends.
    fn lent(address: u64, size: usize) -> Self {
        let (busy, owner) = (AtomicUsize::new(0), AtomicU8::new(BY_PROGRAM));
        let (pooled, history) = (AtomicBool::new(false), Mutex::default());
        let base = address as *mut u8;
        Self { base, size, device: 0, layout: None, busy, owner, pooled, history }
    }

    fn address(&self) -> u64 {
        self.base as u64 + if self.layout.is_some() { RED_ZONE as u64 } else { 0 }
    }

    fn end(&self) -> u64 {
        self.address() + self.size as u64
    }

    /// Bytes of the block with its red zones.
    fn bytes(&self) -> usize {
        self.layout.map_or(0, |layout| layout.size())
    }

    /// Fills `len` bytes from `start` with a pattern; both are multiples of four.
    fn fill(&self, start: usize, len: usize, pattern: u32) {
        // SAFETY: the callers stay inside the layout, which is aligned to 256 bytes.
        unsafe { slice::from_raw_parts_mut(self.base.add(start).cast::<u32>(), len / 4) }
            .fill(pattern);
    }

    /// Everything behind the allocation's last byte: the zone begins there, not at the next word.
    fn fill_tail(&self) {
        for i in RED_ZONE + self.size..self.bytes() {
            // SAFETY: inside the layout.
            unsafe { self.base.add(i).write(RED.to_le_bytes()[i % 4]) };
        }
    }

    /// Whether the bytes from `start` to `end` of the whole block still hold the pattern: the
    /// first that does not.
    fn changed(&self, start: usize, end: usize, pattern: u32) -> Option<usize> {
        // SAFETY: the callers stay inside the layout.
        let bytes = unsafe { slice::from_raw_parts(self.base.add(start), end - start) };
        let expected = pattern.to_le_bytes();
        bytes
            .iter()
            .enumerate()
            .position(|(i, &b)| b != expected[(start + i) % 4])
            .map(|i| start + i)
    }

    /// Finds a write into the red zones, and mends them, so that it is found once.
    fn damage(&self) -> Option<Report> {
        self.layout?;
        let before = self.changed(0, RED_ZONE, RED);
        let behind = self.changed(RED_ZONE + self.size, self.bytes(), RED);
        let message = match (before, behind) {
            (None, None) => return None,
            (_, Some(at)) => {
                format!("{} bytes past the end", at - (RED_ZONE + self.size))
            }
            (Some(_), None) => {
                let last = (0..RED_ZONE).rev().find(|&i| self.changed(i, i + 1, RED).is_some());
                format!("{} bytes before the start", RED_ZONE - last.unwrap_or(0))
            }
        };
        self.fill(0, RED_ZONE, RED);
        self.fill_tail();
        Some(Report::new(
            Kind::RedZone,
            format!("something wrote {message} of the {}", self.described()),
        ))
    }

    /// Finds a write into freed memory, and mends it.
    fn written_after_free(&self) -> Option<Report> {
        let words = self.size.div_ceil(4);
        // SAFETY: inside the layout, aligned.
        let data = unsafe { slice::from_raw_parts(self.base.add(RED_ZONE).cast::<u32>(), words) };
        // All are the pattern if the first is and each equals the one before: one memcmp.
        if data.first().is_none_or(|w| *w == FREED)
            && data[1.min(words)..] == data[..words.max(1) - 1]
        {
            return None;
        }
        let at = data.iter().position(|w| *w != FREED).unwrap_or(0) * 4;
        self.fill(RED_ZONE, words * 4, FREED);
        let described = self.described();
        Some(Report::new(
            Kind::UseAfterFree,
            format!("something wrote at byte {at} of the {described} after it was freed"),
        ))
    }

    fn described(&self) -> String {
        format!("allocation of {} bytes at {:#x}", self.size, self.address())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Some(layout) = self.layout {
            // SAFETY: allocated with this layout, and nobody refers to it any more.
            unsafe { dealloc(self.base, layout) };
        }
    }
}

struct Table {
    live: BTreeMap<u64, Arc<Allocation>>,
    /// Page-locked host memory, which kernels may use too, and host memory that a program lends.
    host: BTreeMap<u64, Arc<Allocation>>,
    quarantine: VecDeque<Arc<Allocation>>,
    quarantined: usize,
    /// Bytes of each device that are allocated.
    used: [u64; MAX_DEVICES],
    /// Whether anything ran since the last check of everything.
    unchecked: bool,
}

static TABLE: Mutex<Table> = Mutex::new(Table {
    live: BTreeMap::new(),
    host: BTreeMap::new(),
    quarantine: VecDeque::new(),
    quarantined: 0,
    used: [0; MAX_DEVICES],
    unchecked: false,
});

fn lock() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The allocation of `map` in which `address` lies, or at whose end.
fn find(map: &BTreeMap<u64, Arc<Allocation>>, address: u64) -> Option<&Arc<Allocation>> {
    let last = map.range(..=address).next_back().map(|(_, a)| a);
    last.filter(|a| address <= a.end() && a.owner.load(Ordering::Acquire) != ABSENT)
}

impl Table {
    /// Takes out the lent memory that shares bytes with a range, and returns where it lay.
    fn take_lent(&mut self, range: &Range<u64>) -> Vec<Range<u64>> {
        let (mut taken, Range { start, end }) = (Vec::new(), range.clone());
        self.host.retain(|_, a| {
            let is_apart = a.layout.is_some() || a.end() <= start || a.address() >= end;
            if !is_apart {
                taken.push(a.address()..a.end());
            }
            is_apart
        });
        taken
    }

    fn put_lent(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            let lent = Allocation::lent(range.start, (range.end - range.start) as usize);
            self.host.insert(range.start, Arc::new(lent));
        }
    }

    /// Forgets the lent memory where new memory lies: its owner has freed that part.
    fn forget_lent(&mut self, new: &Range<u64>) {
        for old in self.take_lent(new) {
            self.put_lent(old.start..new.start.max(old.start));
            self.put_lent(new.end.min(old.end)..old.end);
        }
    }
}

/// Lets kernels use host memory, until the device allocates there. Arrays may overlap, as views of one do. Memory of the
/// device is left as it is.
pub(crate) fn lend(address: u64, size: usize) {
    let mut table = lock();
    let is_own = |map| find(map, address).is_some_and(|a| a.layout.is_some());
    if size > 0 && !is_own(&table.live) && !is_own(&table.host) {
        let new = address..address + size as u64;
        let taken = table.take_lent(&new);
        let joined =
            |all: Range<u64>, old: Range<u64>| all.start.min(old.start)..all.end.max(old.end);
        let all = taken.into_iter().fold(new, joined);
        table.put_lent(all);
    }
}

/// Bytes of a device that are free, and in all.
pub(crate) fn free_and_total(device: usize) -> (u64, u64) {
    let total = settings::memory();
    (total.saturating_sub(lock().used[device]), total)
}

/// Allocates memory of a device.
pub(crate) fn allocate(size: usize, device: usize) -> Result<u64, Refused> {
    if size == 0 {
        return Err(Refused::Invalid);
    }
    {
        let mut table = lock();
        let used = table.used[device].checked_add(size as u64).ok_or(Refused::OutOfMemory)?;
        if used > settings::memory() {
            return Err(Refused::OutOfMemory);
        }
        table.used[device] = used;
        count_bytes(size as i64);
    }
    // Filling takes long, so it is done outside the lock.
    let Some(new) = Allocation::new(size, device) else {
        lock().used[device] -= size as u64;
        count_bytes(-(size as i64));
        return Err(Refused::OutOfMemory);
    };
    let address = new.address();
    let mut table = lock();
    table.forget_lent(&(address..new.end()));
    table.live.insert(address, Arc::new(new));
    Ok(address)
}

/// Allocates memory from a device's pool.
pub(crate) fn allocate_from_pool(size: usize, device: usize) -> Result<u64, Refused> {
    let address = allocate(size, device)?;
    if let Some(new) = lock().live.get(&address) {
        new.pooled.store(true, Ordering::Release);
    }
    Ok(address)
}

/// Whether the address lies in memory from the pool.
pub(crate) fn is_pooled(address: u64) -> bool {
    find(&lock().live, address).is_some_and(|a| a.pooled.load(Ordering::Acquire))
}

/// The device in whose memory the address lies.
pub(crate) fn device_of(address: u64) -> Option<usize> {
    find(&lock().live, address).map(|a| a.device)
}

/// Bytes that are allocated now, on all devices.
pub(crate) fn in_use() -> u64 {
    lock().used.iter().sum()
}

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed, and the most of them since somebody asked.
    static OF_THREAD: std::cell::Cell<[i64; 2]> = const { std::cell::Cell::new([0; 2]) };
}

fn count_bytes(more: i64) {
    let [now, most] = OF_THREAD.get();
    OF_THREAD.set([now + more, most.max(now + more)]);
}

/// Bytes that this thread has allocated, less those that it has freed.
pub(crate) fn of_thread() -> i64 {
    OF_THREAD.get()[0]
}

/// The most of these bytes since the last call.
pub(crate) fn take_peak_of_thread() -> i64 {
    let [now, most] = OF_THREAD.get();
    OF_THREAD.set([now; 2]);
    most
}

/// The memory that some work uses: for each pointer into it, how many bytes from there, and what for. Pointers outside
/// of live allocations are left out, since other checks find them.
pub(crate) struct Used {
    parts: Vec<(Arc<Allocation>, Range<u64>, Access)>,
    reach: Reach,
}

impl Used {
    /// The memory that a copy or a fill uses.
    pub(crate) fn new(parts: impl IntoIterator<Item = (u64, usize, Access)>) -> Self {
        Self::with_reach(parts, Reach::Exact)
    }

    /// The memory that a launch uses, by the addresses that it was given, each with the bytes that are known to follow.
    pub(crate) fn from(parts: impl IntoIterator<Item = (u64, usize, Access)>) -> Self {
        Self::with_reach(parts, Reach::Unknown)
    }

    fn with_reach(parts: impl IntoIterator<Item = (u64, usize, Access)>, reach: Reach) -> Self {
        let table = lock();
        let part = |(address, len, access): (u64, usize, Access)| {
            let found = find(&table.live, address)?;
            Some((found.clone(), address..address + len as u64, access))
        };
        Self { parts: parts.into_iter().filter_map(part).collect(), reach }
    }

    /// The whole of one allocation, which is made or freed.
    pub(crate) fn whole(address: u64) -> Self {
        let size = find(&lock().live, address).map_or(0, |a| a.size);
        Self::with_reach([(address, size, Access::Write)], Reach::Whole)
    }

    /// Checks that new work on the stream may use the memory in this way.
    pub(crate) fn on(&self, stream: usize, what: &str) -> Result<(), Report> {
        let uses = self.parts.iter().map(|(allocation, bytes, access)| Use {
            history: &allocation.history,
            bytes: bytes.clone(),
            reach: self.reach,
            access: *access,
            memory: allocation.described(),
        });
        crate::order::work(stream, what, &uses.collect::<Vec<_>>())
    }
}

/// Allocates device memory for a graph; the memory does not exist before [`revive`].
pub(crate) fn reserve(size: usize, device: usize) -> Result<u64, Refused> {
    let address = allocate(size, device)?;
    let table = lock();
    let new = table.live.get(&address).ok_or(Refused::Invalid)?;
    new.owner.store(ABSENT, Ordering::Release);
    new.fill(RED_ZONE, new.size.next_multiple_of(4), FREED);
    Ok(address)
}

/// A graph's memory is there again, as fresh memory. It changes under the lock: another thread's [`check`] must not
/// meet the pattern of fresh memory where it expects that of freed memory.
pub(crate) fn revive(address: u64) -> Result<(), Refused> {
    let table = lock();
    let reserved = table.live.get(&address).ok_or(Refused::Invalid)?;
    let reports = reserved.written_after_free().into_iter().collect();
    reserved.fill(RED_ZONE, reserved.size.next_multiple_of(4), FRESH);
    reserved.fill_tail();
    reserved.owner.store(RESERVED, Ordering::Release);
    drop(table);
    file_all(reports)
}

/// The graph is gone: its memory goes back, unless the program has it and will free it.
pub(crate) fn unreserve(address: u64) {
    let mut table = lock();
    let Some(reserved) = table.live.get(&address) else { return };
    if reserved.owner.swap(BY_PROGRAM, Ordering::AcqRel) == ABSENT {
        let (device, size) = (reserved.device, reserved.size);
        count_bytes(-(size as i64));
        table.used[device] -= size as u64;
        table.live.remove(&address);
    }
}

/// Takes a live allocation out of the table, or, if a graph keeps it, only out of sight.
fn take_out(address: u64) -> Option<Arc<Allocation>> {
    let mut table = lock();
    let found = table.live.get(&address)?.clone();
    match found.owner.load(Ordering::Acquire) {
        ABSENT => return None,
        RESERVED => {
            // Under the lock, as in `revive`; what a kernel still uses is the caller's to report.
            if found.busy.load(Ordering::Acquire) == 0 {
                found.fill(RED_ZONE, found.size.next_multiple_of(4), FREED);
            }
            found.owner.store(ABSENT, Ordering::Release);
        }
        _ => {
            count_bytes(-(found.size as i64));
            table.used[found.device] -= found.size as u64;
            table.live.remove(&address);
        }
    }
    Some(found)
}

/// Frees device memory, and checks its red zones first.
pub(crate) fn free(address: u64) -> Result<(), Refused> {
    let Some(allocation) = take_out(address) else {
        Report::new(
            Kind::Range,
            format!("a free of {address:#x}, where no live allocation begins"),
        )
        .file();
        return Err(Refused::Invalid);
    };
    let mut reports = Vec::new();
    if allocation.busy.load(Ordering::Acquire) > 0 {
        let described = allocation.described();
        let message = format!("the {described} is freed while a kernel runs that was given it");
        reports.push(Report::new(Kind::UseAfterFree, message));
    } else {
        reports.extend(allocation.damage());
        if allocation.owner.load(Ordering::Acquire) == BY_PROGRAM {
            allocation.fill(RED_ZONE, allocation.size.next_multiple_of(4), FREED);
            reports.extend(quarantine(allocation));
        }
    }
    file_all(reports)
}

/// Puts a freed allocation into quarantine; the oldest leave after a last check.
fn quarantine(allocation: Arc<Allocation>) -> Vec<Report> {
    if allocation.size > QUARANTINE_BYTES {
        return Vec::new();
    }
    let mut table = lock();
    table.quarantined += allocation.size;
    table.quarantine.push_back(allocation);
    let mut reports = Vec::new();
    while table.quarantined > QUARANTINE_BYTES || table.quarantine.len() > QUARANTINE_LEN {
        let Some(oldest) = table.quarantine.pop_front() else { break };
        table.quarantined -= oldest.size;
        reports.extend(oldest.written_after_free());
    }
    reports
}

fn file_all(reports: Vec<Report>) -> Result<(), Refused> {
    let clean = reports.is_empty();
    reports.into_iter().for_each(Report::file);
    if clean { Ok(()) } else { Err(Refused::Damaged) }
}

/// Checks all red zones and all freed memory, if anything ran since the last check. Reports what it finds.
pub(crate) fn check() -> Result<(), Refused> {
    let mut table = lock();
    if !std::mem::take(&mut table.unchecked) {
        return Ok(());
    }
    let idle = |a: &&Arc<Allocation>| a.busy.load(Ordering::Acquire) == 0;
    let all = table.live.values().chain(table.host.values()).filter(idle);
    let (absent, there): (Vec<_>, Vec<_>) =
        all.partition(|a| a.owner.load(Ordering::Acquire) == ABSENT);
    let zones = there.into_iter().filter_map(|a| a.damage());
    let freed = table.quarantine.iter().chain(absent).filter_map(|a| a.written_after_free());
    let reports = zones.chain(freed).collect();
    drop(table);
    file_all(reports)
}

/// Whether `len` bytes from `address` are inside one live allocation; if not, that is reported
/// as the fault of `what`.
pub(crate) fn check_range(address: u64, len: usize, what: &str) -> Result<(), Refused> {
    if len == 0 {
        return Ok(());
    }
    let table = lock();
    let found = find(&table.live, address).or_else(|| find(&table.host, address));
    let inside = |a: &&Arc<Allocation>| a.end() - address >= len as u64;
    if found.is_some_and(|a| inside(&a)) {
        return Ok(());
    }
    let place = match found {
        Some(a) => format!("leaves the {}", a.described()),
        None => "is in no live allocation".to_owned(),
    };
    drop(table);
    let message = format!("{what} of {len} bytes at {address:#x} {place}");
    Report::new(Kind::Range, message).file();
    Err(Refused::Invalid)
}

/// Whether the address lies in device memory.
pub(crate) fn is_device(address: u64) -> bool {
    find(&lock().live, address).is_some()
}

/// Whether the address lies in page-locked host memory.
pub(crate) fn is_page_locked(address: u64) -> bool {
    find(&lock().host, address).is_some()
}

/// Allocates page-locked host memory.
pub(crate) fn allocate_host(size: usize) -> Result<u64, Refused> {
    if size == 0 {
        return Err(Refused::Invalid);
    }
    let new = Allocation::new(size, 0).ok_or(Refused::OutOfMemory)?;
    let address = new.address();
    let mut table = lock();
    table.forget_lent(&(address..new.end()));
    table.host.insert(address, Arc::new(new));
    Ok(address)
}

/// Frees page-locked host memory.
pub(crate) fn free_host(address: u64) -> Result<(), Refused> {
    let Some(allocation) = lock().host.remove(&address) else {
        let message = format!("a free of {address:#x}, where no page-locked memory begins");
        Report::new(Kind::Range, message).file();
        return Err(Refused::Invalid);
    };
    file_all(allocation.damage().into_iter().collect())
}

/// The memory that a running launch was given.
pub(crate) struct Busy(Vec<Arc<Allocation>>);

impl Busy {
    /// Marks the memory that the pointers lie in. A pointer is null, or lies in live memory of the device or
    /// page-locked memory (or at its end), with this many bytes after it. Returns the first other pointer as the error.
    pub(crate) fn new(
        pointers: impl Iterator<Item = (u64, usize)>,
        device: usize,
    ) -> Result<Self, u64> {
        let table = lock();
        let mut given: Vec<Arc<Allocation>> = Vec::new();
        for (pointer, bytes) in pointers.filter(|(p, _)| *p != 0) {
            let own = find(&table.live, pointer).filter(|a| a.device == device);
            let found = own.or_else(|| find(&table.host, pointer));
            let whole = found.filter(|a| a.end() - pointer >= bytes as u64);
            let allocation = whole.ok_or(pointer)?;
            if !given.iter().any(|a| Arc::ptr_eq(a, allocation)) {
                given.push(allocation.clone());
            }
        }
        for allocation in &given {
            allocation.busy.fetch_add(1, Ordering::AcqRel);
        }
        Ok(Self(given))
    }

    /// The launch is over: what it wrote beside the memory it was given.
    pub(crate) fn finish(self) -> Vec<Report> {
        let mut table = lock();
        table.unchecked = true;
        let freed = |a: &Allocation| a.busy.fetch_sub(1, Ordering::AcqRel) == 1;
        self.0.iter().filter(|a| freed(a)).filter_map(|a| a.damage()).collect()
    }
}
