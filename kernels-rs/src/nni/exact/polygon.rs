//! A convex polygon round a query point, cut by bisectors; and how it falls to the sites at its sides.
//!
//! Places are relative to the query point. A corner is computed from the two lines that meet there, never
//! from earlier corners, so errors do not add up and the polygon does not depend on the order of the
//! cuts.

use device_std::math;

use super::team::Team;

/// Names of lines below this are sites; from here on they are the sides of the window.
pub const WINDOW: u32 = u32::MAX - 3;

/// Corners, or sides, that each thread of a team looks at for itself.
const FEW: u32 = 10;

/// Sides up to which all corners are looked at for the farthest beyond a line; of more it is searched by the angle.
const MANY: u32 = 64;

/// The half-plane of the places p with `normal . p <= room`. For a site at n these are `n` and
/// `|n|^2 / 2`: the places nearer to the query point than to the site.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Outward.
    pub normal: [f64; 2],
    /// See above; positive.
    pub room: f64,
    /// How fast `room` falls: 1 for a site, 0 for a side of the window. See [`Polygon::share`].
    pub speed: f64,
}

impl Line {
    /// The bisector between the query point and a site.
    #[inline(always)]
    pub fn of_site(n: [f64; 2]) -> Self {
        Self { normal: n, room: (n[0] * n[0] + n[1] * n[1]) * 0.5, speed: 1.0 }
    }

    /// Side `k` of a square window: east, north, west, south.
    #[inline(always)]
    pub fn of_window(k: u32, half_side: f64) -> Self {
        let sign = if k & 2 == 0 { 1.0 } else { -1.0 };
        let normal = if k & 1 == 0 { [sign, 0.0] } else { [0.0, sign] };
        Self { normal, room: half_side, speed: 0.0 }
    }

    /// By how much a place is beyond the line.
    #[inline(always)]
    fn excess(&self, p: [f64; 2]) -> f64 {
        p[0] * self.normal[0] + p[1] * self.normal[1] - self.room
    }
}

/// Where two lines meet that follow each other round the polygon; `None` where they are parallel but for
/// rounding.
#[inline(always)]
pub fn meeting(a: Line, b: Line) -> Option<[f64; 2]> {
    let turn = cross(a.normal, b.normal);
    let scale = (a.normal[0].abs() + a.normal[1].abs()) * (b.normal[0].abs() + b.normal[1].abs());
    if turn <= 1e-12 * scale {
        return None;
    }
    let inverse = 1.0 / turn;
    Some([
        (a.room * b.normal[1] - b.room * a.normal[1]) * inverse,
        (b.room * a.normal[0] - a.room * b.normal[0]) * inverse,
    ])
}

/// Angles, counterclockwise from a way.
struct AngleFrom([f64; 2]);

impl AngleFrom {
    /// Whether that of one way is less than that of another.
    #[inline(always)]
    fn is_less(&self, a: [f64; 2], b: [f64; 2]) -> bool {
        let (a_is_over, b_is_over) = (self.is_over_half(a), self.is_over_half(b));
        if a_is_over == b_is_over { cross(a, b) > 0.0 } else { b_is_over }
    }

    /// Whether it is half a turn or more.
    #[inline(always)]
    fn is_over_half(&self, way: [f64; 2]) -> bool {
        let turn = cross(self.0, way);
        turn < 0.0 || turn == 0.0 && self.0[0] * way[0] + self.0[1] * way[1] < 0.0
    }
}

/// The square of a distance from the query point.
#[inline(always)]
fn squared([x, y]: [f64; 2]) -> f64 {
    x * x + y * y
}

/// Twice the area of the triangle that two ways span, positive where it is counterclockwise.
#[inline(always)]
pub fn cross(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

/// Whether the borders with the last neighbour before an opening, counterclockwise, and with the first behind it diverge
/// by more than an angle; the neighbours' ways are given.
#[inline(always)]
pub fn diverge(before: [f64; 2], behind: [f64; 2], angle: f64) -> bool {
    let (left, right) = ([-before[1], before[0]], [behind[1], -behind[0]]);
    let lengths = math::sqrt(squared(left) * squared(right));
    let is_wide = left[0] * right[0] + left[1] * right[1] <= 0.0;
    is_wide || cross(left, right) > angle * lengths
}

/// Twice the area of a triangle, positive where it is counterclockwise.
#[inline(always)]
fn area(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    cross([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]])
}

/// Memory for a polygon: side i goes from corner i to corner i + 1 and has a line, a share of the area,
/// and a time. Indices are below the capacity.
pub trait Slots {
    /// The most sides.
    fn capacity(&self) -> u32;
    /// A corner.
    fn corner(&self, i: u32) -> [f64; 2];
    /// Sets a corner.
    fn set_corner(&mut self, i: u32, corner: [f64; 2]);
    /// The name of a side's line.
    fn line(&self, i: u32) -> u32;
    /// Sets the name of a side's line.
    fn set_line(&mut self, i: u32, line: u32);
    /// The share of a side.
    fn share(&self, i: u32) -> f64;
    /// Sets the share of a side.
    fn set_share(&mut self, i: u32, share: f64);
    /// The time of a side.
    fn time(&self, i: u32) -> f64;
    /// Sets the time of a side.
    fn set_time(&mut self, i: u32, time: f64);
    /// Moves the sides from a first to before an end to where the first goes; their shares and times, too, if they have
    /// any.
    #[inline(always)]
    fn move_sides(&mut self, [first, end]: [u32; 2], to: u32, has_shares: bool) {
        let mut i = 0;
        while i < end - first {
            let k = if to < first { i } else { end - first - 1 - i };
            let side = Side::of(self, first + k, has_shares);
            side.put(self, to + k, has_shares);
            i += 1;
        }
    }
}

/// What slots have of a side.
#[derive(Clone, Copy)]
struct Side {
    corner: [f64; 2],
    line: u32,
    share: f64,
    time: f64,
}

impl Side {
    #[inline(always)]
    fn of<S: Slots + ?Sized>(slots: &S, i: u32, has_shares: bool) -> Self {
        let (share, time) = if has_shares { (slots.share(i), slots.time(i)) } else { (0.0, 0.0) };
        Self { corner: slots.corner(i), line: slots.line(i), share, time }
    }

    #[inline(always)]
    fn put<S: Slots + ?Sized>(self, slots: &mut S, i: u32, has_shares: bool) {
        slots.set_corner(i, self.corner);
        slots.set_line(i, self.line);
        if has_shares {
            slots.set_share(i, self.share);
            slots.set_time(i, self.time);
        }
    }
}

/// A polygon in slots, of a team of threads.
pub struct Polygon<'a, S, T> {
    /// Where it is.
    pub slots: &'a mut S,
    /// Its sides.
    pub len: u32,
    /// The squared distance of its farthest corner.
    pub farthest: f64,
    /// Whose it is.
    pub team: T,
}

impl<'a, S: Slots, T: Team> Polygon<'a, S, T> {
    /// None yet.
    #[inline(always)]
    pub fn new(slots: &'a mut S, team: T) -> Self {
        Self { slots, len: 0, farthest: 0.0, team }
    }

    /// Makes it the square window.
    #[inline(always)]
    pub fn open(&mut self, half_side: f64) {
        self.len = 4;
        self.farthest = half_side * half_side + half_side * half_side;
        // Others may still read what was here.
        self.team.sync();
        let mut k = 0;
        while self.team.leads() && k < 4 {
            // Side 0 is the eastern one, from the south-eastern corner.
            let x = if k == 0 || k == 1 { half_side } else { -half_side };
            let y = if k == 1 || k == 2 { half_side } else { -half_side };
            self.slots.set_corner(k, [x, y]);
            self.slots.set_line(k, WINDOW + k);
            k += 1;
        }
        self.team.sync();
    }

    #[inline(always)]
    fn after(&self, i: u32, len: u32) -> u32 {
        if i + 1 == len { 0 } else { i + 1 }
    }

    #[inline(always)]
    fn before(&self, i: u32, len: u32) -> u32 {
        if i == 0 { len - 1 } else { i - 1 }
    }

    /// Whether it widens on its way to the window's border, by more than an angle: the bisectors on both sides of a part
    /// of the border that is its own diverge. `line_of` gives the lines by name.
    #[inline(always)]
    pub fn widens(&self, angle: f64, line_of: impl Fn(u32) -> Line) -> bool {
        let mut i = 0;
        while i < self.len {
            let mut behind = self.after(i, self.len);
            if self.slots.line(i) < WINDOW && self.slots.line(behind) >= WINDOW {
                while self.slots.line(behind) >= WINDOW {
                    behind = self.after(behind, self.len);
                }
                let [here, there] = [i, behind].map(|i| line_of(self.slots.line(i)).normal);
                if diverge(here, there, angle) {
                    return true;
                }
            }
            i += 1;
        }
        false
    }

    /// Looks for the farthest corner.
    #[inline(always)]
    fn look_for_farthest(&mut self) {
        // Few corners are sooner looked at by each thread than told to the others.
        let (first, step) = if self.len > FEW { (self.team.rank(), T::THREADS) } else { (0, 1) };
        let mut farthest = 0.0;
        let mut i = first;
        while i < self.len {
            farthest = f64::max(farthest, squared(self.slots.corner(i)));
            i += step;
        }
        self.farthest =
            if self.len > FEW { self.team.reduce(farthest, f64::max) } else { farthest };
    }

    /// The corner that is farthest beyond a line, which each thread of the team has its own of; `None` where none
    /// is. `line_of` gives the lines by name.
    #[inline(always)]
    pub fn farthest_beyond(&self, line: Line, line_of: impl Fn(u32) -> Line) -> Option<u32> {
        if self.slots.capacity() > MANY && self.len > MANY {
            return self.farthest_by_angle(line, line_of);
        }
        let (mut worst, mut at) = (0.0, None);
        let mut i = 0;
        while i < self.len {
            let excess = line.excess(self.slots.corner(i));
            if excess > worst {
                (worst, at) = (excess, Some(i));
            }
            i += 1;
        }
        at
    }

    /// The same by the angles of the sides, which grow round the polygon: the corner is between the two sides between
    /// whose normals the line's is, or, where rounding has a say, next to it.
    #[inline(always)]
    fn farthest_by_angle(&self, line: Line, line_of: impl Fn(u32) -> Line) -> Option<u32> {
        let angle = AngleFrom(line_of(self.slots.line(0)).normal);
        let (mut first, mut end) = (1, self.len);
        while first < end {
            let middle = (first + end) / 2;
            if angle.is_less(line_of(self.slots.line(middle)).normal, line.normal) {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        let excess = |i: u32| line.excess(self.slots.corner(i));
        let mut at = if first == self.len { 0 } else { first };
        let (mut worst, mut steps, mut is_forward) = (excess(at), 0, true);
        while steps < self.len {
            let next =
                if is_forward { self.after(at, self.len) } else { self.before(at, self.len) };
            let beyond = excess(next);
            if beyond > worst {
                (worst, at) = (beyond, next);
            } else if is_forward {
                is_forward = false;
            } else {
                break;
            }
            steps += 1;
        }
        (worst > 0.0).then_some(at)
    }

    /// Cuts off what is beyond a line, of which corner `at` is the farthest. `line_of` gives the lines by name.
    /// `false` where the slots do not suffice.
    ///
    /// With that corner go its neighbours as long as they are beyond: one run, whatever rounding makes of the
    /// others.
    #[inline(always)]
    pub fn cut(&mut self, new: Line, name: u32, at: u32, line_of: impl Fn(u32) -> Line) -> bool {
        let len = self.len;
        // The corners that go are those from `first` to `last`, and one at least stays.
        let (mut first, mut last, mut gone) = (at, at, 1);
        let mut farthest_gone = squared(self.slots.corner(at));
        let (mut i, mut is_forward) = (self.before(at, len), false);
        while gone + 1 < len {
            let corner = self.slots.corner(i);
            if new.excess(corner) > 0.0 {
                farthest_gone = f64::max(farthest_gone, squared(corner));
                (first, last) = if is_forward { (first, i) } else { (i, last) };
                gone += 1;
            } else if is_forward {
                break;
            } else {
                is_forward = true;
            }
            i = if is_forward { self.after(last, len) } else { self.before(first, len) };
        }
        if len + 2 - gone > self.slots.capacity() {
            return false;
        }
        let (kept_before, kept_after) = (self.before(first, len), self.after(last, len));
        let (line_before, line_after) = (self.slots.line(kept_before), self.slots.line(last));
        let enter = match meeting(line_of(line_before), new) {
            Some(corner) => corner,
            None => self.crossing(kept_before, first, new),
        };
        let leave = match meeting(new, line_of(line_after)) {
            Some(corner) => corner,
            None => self.crossing(kept_after, last, new),
        };
        self.team.sync();
        let place = self.make_room(first, last, gone);
        if self.team.leads() {
            self.slots.set_corner(place, enter);
            self.slots.set_line(place, name);
            self.slots.set_corner(place + 1, leave);
            self.slots.set_line(place + 1, line_after);
        }
        self.team.sync();
        self.len = len + 2 - gone;
        if farthest_gone < self.farthest {
            self.farthest = f64::max(self.farthest, f64::max(squared(enter), squared(leave)));
        } else {
            self.look_for_farthest();
        }
        true
    }

    /// Where a line crosses the side between a corner that stays and one that goes.
    #[inline(always)]
    fn crossing(&self, stays: u32, goes: u32, line: Line) -> [f64; 2] {
        let (a, b) = (self.slots.corner(stays), self.slots.corner(goes));
        let (from, to) = (f64::min(line.excess(a), 0.0), line.excess(b));
        let part = from / (from - to);
        [a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part]
    }

    /// Puts two slots in place of those from `first` to `last`, `gone` in number; gives the first.
    #[inline(always)]
    fn make_room(&mut self, first: u32, last: u32, gone: u32) -> u32 {
        if first > last {
            // The run goes over the end: what stays moves to the start, and the two follow.
            self.move_sides([last + 1, first], 0, false);
            return first - last - 1;
        }
        if gone != 2 {
            self.move_sides([last + 1, self.len], first + 2, false);
        }
        first
    }

    /// As [`Slots::move_sides`], a side a thread; all have read before what was there, and see what is there when they
    /// have met again.
    #[inline(always)]
    fn move_sides(&mut self, [first, end]: [u32; 2], to: u32, has_shares: bool) {
        if T::THREADS == 1 {
            return self.slots.move_sides([first, end], to, has_shares);
        }
        let (count, rank) = (end - first, self.team.rank());
        let mut done = 0;
        while done < count {
            // Those go first that lie where others go.
            let from_front = u32::min(done + rank, count - 1);
            let k = if to < first { from_front } else { count - 1 - from_front };
            let side = Side::of(self.slots, first + k, has_shares);
            self.team.sync();
            if done + rank < count {
                side.put(self.slots, to + k, has_shares);
            }
            done += T::THREADS;
        }
    }

    /// Gives each side its share of the area, doubled: of what is nearer to its site than to the others'.
    ///
    /// How much nearer a place p is to the query point than to the site n, `|p - n|^2 - |p|^2`, is
    /// linear in p. So the shares are the faces of a roof, whose ridges lie where two of them are equal.
    /// Its level sets are the polygon with all sides moved inward, each at its own speed. In the order of
    /// levels sides shrink to nothing, one after the other (as many as there are, less two); where one
    /// does, its share is closed, and its neighbours meet from there on. What lies between an
    /// old side and a new one is three triangles, each of which belongs to one site. All are positive, so
    /// nothing cancels.
    ///
    /// A side of the window stays where it is and takes nothing.
    ///
    /// Sides change places. Work grows with the square of the sides, which the threads share.
    #[inline(always)]
    pub fn share(&mut self, line_of: impl Fn(u32) -> Line) {
        let len = self.len;
        let mut i = self.team.rank();
        while i < len {
            let beside = [self.before(i, len), i, self.after(i, len)];
            let [before, here, after] = beside.map(|i| line_of(self.slots.line(i)));
            self.slots.set_share(i, 0.0);
            self.slots.set_time(i, Event::of(before, here, after).time());
            i += T::THREADS;
        }
        self.team.sync();
        let mut alive = len;
        while alive > 3 {
            let side = self.soonest(alive);
            self.close(side, alive, &line_of);
            alive -= 1;
        }
        let last = |i: u32| line_of(self.slots.line(i));
        let top = Event::of(last(0), last(1), last(2)).place();
        let [a, b, c] = [0, 1, 2].map(|i| self.slots.corner(i));
        let whole = area(a, b, c);
        let parts = [area(a, b, top), area(b, c, top), area(c, a, top)];
        // Where rounding puts the top outside there is next to nothing to share.
        let is_inside = is_positive(parts, length(a, b) + length(b, c));
        let part = |part: f64| f64::max(if is_inside { part } else { whole * (1.0 / 3.0) }, 0.0);
        if self.team.leads() {
            self.add(0, part(parts[0]));
            self.add(1, part(parts[1]));
            self.add(2, part(parts[2]));
        }
        self.team.sync();
    }

    #[inline(always)]
    fn add(&mut self, i: u32, part: f64) {
        self.slots.set_share(i, self.slots.share(i) + part);
    }

    /// The side that shrinks to nothing first.
    #[inline(always)]
    fn soonest(&self, alive: u32) -> u32 {
        let (first, step) = if alive > FEW { (self.team.rank(), T::THREADS) } else { (0, 1) };
        let (mut soonest, mut side) = (f64::INFINITY, 0);
        let mut i = first;
        while i < alive {
            let time = self.slots.time(i);
            if time < soonest {
                (soonest, side) = (time, i);
            }
            i += step;
        }
        if T::THREADS == 1 || alive <= FEW {
            return side;
        }
        // Of several the first.
        let of_all = self.team.reduce(soonest, f64::min);
        let is_soonest = soonest == of_all && of_all < f64::INFINITY;
        let side = self.team.reduce(if is_soonest { side } else { u32::MAX }, u32::min);
        if side == u32::MAX { 0 } else { side }
    }

    /// Closes the share of a side that has shrunk to nothing, and puts it behind the ones that are left.
    #[inline(always)]
    fn close(&mut self, side: u32, alive: u32, line_of: &impl Fn(u32) -> Line) {
        let (before, after) = (self.before(side, alive), self.after(side, alive));
        let (name, name_before, name_after) =
            (self.slots.line(side), self.slots.line(before), self.slots.line(after));
        let (line_before, line_after) = (line_of(name_before), line_of(name_after));
        let start = self.slots.corner(before);
        let (left, right) = (self.slots.corner(side), self.slots.corner(after));
        let end = self.slots.corner(self.after(after, alive));
        let mut top = Event::of(line_before, line_of(name), line_after).place();
        let parts = [area(start, left, top), area(left, right, top), area(right, end, top)];
        if !is_positive(parts, length(start, left) + length(left, right) + length(right, end)) {
            // Rounding alone decides about a side so short.
            top = [(left[0] + right[0]) * 0.5, (left[1] + right[1]) * 0.5];
        }
        self.team.sync();
        if self.team.leads() {
            self.add(before, f64::max(area(start, left, top), 0.0));
            self.add(side, f64::max(area(left, right, top), 0.0));
            self.add(after, f64::max(area(right, end, top), 0.0));
            self.slots.set_corner(after, top);
        }
        self.team.sync();
        let share = self.slots.share(side);
        self.team.sync();
        self.move_sides([side + 1, alive], side, true);
        let alive = alive - 1;
        // The neighbours' times, with their new neighbours.
        let after = if side == alive { 0 } else { side };
        let before = self.before(after, alive);
        self.team.sync();
        if self.team.leads() {
            self.slots.set_line(alive, name);
            self.slots.set_share(alive, share);
        }
        let beyond = |i: u32| line_of(self.slots.line(i));
        let time_before =
            Event::of(beyond(self.before(before, alive)), line_before, line_after).time();
        let time_after =
            Event::of(line_before, line_after, beyond(self.after(after, alive))).time();
        self.team.sync();
        if self.team.leads() {
            self.slots.set_time(before, time_before);
            self.slots.set_time(after, time_after);
        }
        self.team.sync();
    }
}

/// Whether no part is negative beyond the rounding of places so far apart.
#[inline(always)]
fn is_positive([a, b, c]: [f64; 3], reach: f64) -> bool {
    // What is not a number is not positive, which `min` would not tell.
    let is_number = (a + b + c).abs() < f64::INFINITY;
    is_number && f64::min(f64::min(a, b), c) >= -1e-10 * (reach * reach)
}

/// The length of a way along the axes.
#[inline(always)]
fn length(a: [f64; 2], b: [f64; 2]) -> f64 {
    (b[0] - a[0]).abs() + (b[1] - a[1]).abs()
}

/// Where and when three moving lines meet: `normal . p + speed * time = room` for each.
#[derive(Clone, Copy)]
struct Event {
    /// The lines that meet, counterclockwise: of a side before the one that shrinks to nothing, of that, of one after. Of
    /// sites that which [is opposite the longest side](Event::pivoted) of their triangle is in the middle.
    lines: [Line; 3],
    /// Positive where the side shrinks.
    determinant: f64,
}

impl Event {
    #[inline(always)]
    fn of(a: Line, b: Line, c: Line) -> Self {
        let mut event = Self { lines: [a, b, c], determinant: 0.0 };
        event.determinant = if event.is_of_sites() {
            event.lines = Self::pivoted(event.lines);
            let [before, after] = event.ways();
            cross(after, before)
        } else {
            a.speed * cross(b.normal, c.normal)
                + b.speed * cross(c.normal, a.normal)
                + c.speed * cross(a.normal, b.normal)
        };
        event
    }

    #[inline(always)]
    fn is_of_sites(&self) -> bool {
        let [a, b, c] = self.lines;
        a.speed * b.speed * c.speed > 0.0
    }

    /// Three sites, turned so that the one opposite the longest side of their triangle is in the middle.
    ///
    /// From there both others are near. From a site that is farther away by many powers of ten, the ways to
    /// the others differ by less than they are rounded by.
    #[inline(always)]
    fn pivoted([a, b, c]: [Line; 3]) -> [Line; 3] {
        let between =
            |p: Line, q: Line| squared([p.normal[0] - q.normal[0], p.normal[1] - q.normal[1]]);
        let [ab, bc, ca] = [between(a, b), between(b, c), between(c, a)];
        if ab > bc && ab > ca {
            [b, c, a]
        } else if bc > ca {
            [c, a, b]
        } else {
            [a, b, c]
        }
    }

    /// The ways from the middle site to the others. Sites may lie much closer to each other than to the
    /// query point, so differences come first.
    #[inline(always)]
    fn ways(&self) -> [[f64; 2]; 2] {
        let [a, b, c] = self.lines;
        [
            [a.normal[0] - b.normal[0], a.normal[1] - b.normal[1]],
            [c.normal[0] - b.normal[0], c.normal[1] - b.normal[1]],
        ]
    }

    /// When; never where the side grows.
    #[inline(always)]
    fn time(self) -> f64 {
        if self.determinant <= 0.0 {
            return f64::INFINITY;
        }
        let [a, b, c] = self.lines;
        if self.is_of_sites() {
            // Half of how much nearer the place is to the query point than to the site.
            let [x, y] = self.way_from_site();
            return -b.room - (b.normal[0] * x + b.normal[1] * y);
        }
        let numerator = a.room * cross(b.normal, c.normal)
            + b.room * cross(c.normal, a.normal)
            + c.room * cross(a.normal, b.normal);
        numerator / self.determinant
    }

    /// Where.
    #[inline(always)]
    fn place(self) -> [f64; 2] {
        let [a, b, c] = self.lines;
        if self.is_of_sites() {
            let [x, y] = self.way_from_site();
            return [b.normal[0] + x, b.normal[1] + y];
        }
        // Cramer's rule.
        let along = |k: fn([f64; 2]) -> f64| {
            a.room * (k(b.normal) * c.speed - b.speed * k(c.normal))
                + b.room * (k(c.normal) * a.speed - c.speed * k(a.normal))
                + c.room * (k(a.normal) * b.speed - a.speed * k(b.normal))
        };
        let inverse = 1.0 / self.determinant;
        [along(|n| n[1]) * inverse, -along(|n| n[0]) * inverse]
    }

    /// The middle of the circle through three sites, from the middle one.
    #[inline(always)]
    fn way_from_site(self) -> [f64; 2] {
        let [a, c] = self.ways();
        let (a_room, c_room) =
            ((a[0] * a[0] + a[1] * a[1]) * 0.5, (c[0] * c[0] + c[1] * c[1]) * 0.5);
        let inverse = 1.0 / self.determinant;
        [(c_room * a[1] - a_room * c[1]) * inverse, (a_room * c[0] - c_room * a[0]) * inverse]
    }
}
