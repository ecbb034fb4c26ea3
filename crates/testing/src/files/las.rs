//! LAS files, with whatever header and records a test wants.

/// A variable length record.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Who defined it: up to 16 bytes.
    pub user_id: Vec<u8>,
    /// Its number.
    pub id: u16,
    /// What it holds.
    pub data: Vec<u8>,
}

impl Record {
    /// A record.
    pub fn new(user_id: &str, id: u16, data: impl Into<Vec<u8>>) -> Self {
        Self { user_id: user_id.into(), id, data: data.into() }
    }

    /// A coordinate system as well-known text, with the NUL that closes it.
    pub fn wkt(text: &str) -> Self {
        Self::new("LASF_Projection", 2112, format!("{text}\0"))
    }

    /// A coordinate system as GeoTIFF keys with numbers for values: key and value each.
    pub fn keys(keys: &[(u16, u16)]) -> Self {
        let entries = keys.iter().flat_map(|&(key, value)| [key, 0, 1, value]);
        let words = [1, 1, 0, keys.len() as u16].into_iter().chain(entries);
        Self::new("LASF_Projection", 34735, words.flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
    }

    fn bytes(&self, is_extended: bool) -> Vec<u8> {
        let mut bytes = vec![0; 2];
        let mut user_id = self.user_id.clone();
        user_id.resize(16, 0);
        bytes.extend(user_id);
        bytes.extend(self.id.to_le_bytes());
        if is_extended {
            bytes.extend((self.data.len() as u64).to_le_bytes());
        } else {
            bytes.extend((self.data.len() as u16).to_le_bytes());
        }
        bytes.extend([0; 32]);
        bytes.extend(&self.data);
        bytes
    }
}

/// A file of points without compression: sound, unless a field says otherwise.
#[derive(Clone, Debug)]
pub struct Las {
    /// Minor version: 0 to 4.
    pub version: u8,
    /// Point format: 0 in the older versions, 6 in version 4.
    pub format: u8,
    /// Scale of the coordinates.
    pub scale: f64,
    /// x, y and z of each point.
    pub points: Vec<[f64; 3]>,
    /// Records behind the header.
    pub records: Vec<Record>,
    /// Records behind the points, in version 4 alone.
    pub extended: Vec<Record>,
    /// Whether the header says that the system is well-known text.
    pub says_wkt: bool,
    /// The number of points that the header has in its older field, where it is not the right one.
    pub count: Option<u32>,
    /// The number of points that the header has in its newer field, where it is not the right one.
    pub extended_count: Option<u64>,
    /// The bounds that the header has, where they are not the right ones: least and greatest of each axis.
    pub bounds: Option<[[f64; 2]; 3]>,
}

impl Las {
    /// Points in the version and the format that can hold GeoTIFF keys.
    pub fn new(points: Vec<[f64; 3]>) -> Self {
        Self {
            version: 2,
            format: 0,
            scale: 0.01,
            points,
            records: vec![],
            extended: vec![],
            says_wkt: false,
            count: None,
            extended_count: None,
            bounds: None,
        }
    }

    /// The same points in version 1.4 and point format 6.
    pub fn extended(points: Vec<[f64; 3]>) -> Self {
        Self { version: 4, format: 6, says_wkt: true, ..Self::new(points) }
    }

    /// A lattice of points, one in each cell, whose heights are x plus y.
    pub fn lattice(west: f64, south: f64, side: u32) -> Vec<[f64; 3]> {
        let place = |i: u32| {
            let (dx, dy) = (f64::from(i % side) + 0.5, f64::from(i / side) + 0.5);
            [west + dx, south + dy, dx + dy]
        };
        (0..side * side).map(place).collect()
    }

    /// The file with one more record behind its header.
    pub fn with(mut self, record: Record) -> Self {
        self.records.push(record);
        self
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let header_size: u16 = match self.version {
            4 => 375,
            3 => 235,
            _ => 227,
        };
        let is_long = self.format >= 6;
        let record: u16 = if is_long { 30 } else { 20 };
        let records: Vec<u8> = self.records.iter().flat_map(|r| r.bytes(false)).collect();
        let start = u32::from(header_size) + records.len() as u32;
        let count = self.points.len() as u64;
        let legacy = self.count.unwrap_or(if is_long { 0 } else { count as u32 });
        let mut b = b"LASF\0\0".to_vec();
        b.extend((u16::from(self.says_wkt) << 4).to_le_bytes());
        b.extend([0; 16]);
        b.extend([1, self.version]);
        b.extend([0; 64]);
        b.extend([1, 0, 0xe4, 7]);
        b.extend(header_size.to_le_bytes());
        b.extend(start.to_le_bytes());
        b.extend((self.records.len() as u32).to_le_bytes());
        b.push(self.format);
        b.extend(record.to_le_bytes());
        b.extend(legacy.to_le_bytes());
        b.extend([0; 20]);
        let axis = |axis: usize| self.points.iter().map(move |p| p[axis]);
        let offsets = [0, 1, 2].map(|i| axis(i).next().unwrap_or(0.0).round());
        [self.scale; 3].iter().chain(&offsets).for_each(|v| b.extend(v.to_le_bytes()));
        for i in 0..3 {
            let least = axis(i).fold(f64::INFINITY, f64::min);
            let most = axis(i).fold(f64::NEG_INFINITY, f64::max);
            let [least, most] = self.bounds.map_or([least, most], |bounds| bounds[i]);
            [most, least].iter().for_each(|v| b.extend(v.to_le_bytes()));
        }
        if self.version >= 3 {
            b.extend([0; 8]);
        }
        if self.version == 4 {
            let end = u64::from(start) + count * u64::from(record);
            let first = if self.extended.is_empty() { 0 } else { end };
            b.extend(first.to_le_bytes());
            b.extend((self.extended.len() as u32).to_le_bytes());
            b.extend(self.extended_count.unwrap_or(count).to_le_bytes());
            b.extend([0; 120]);
        }
        b.extend(records);
        for point in &self.points {
            let mut bytes = vec![0; usize::from(record)];
            for (i, offset) in offsets.iter().enumerate() {
                let step = ((point[i] - offset) / self.scale).round() as i32;
                bytes[4 * i..4 * i + 4].copy_from_slice(&step.to_le_bytes());
            }
            // Return 1 of 1, on the ground.
            bytes[14] = if is_long { 0x11 } else { 0x09 };
            bytes[if is_long { 16 } else { 15 }] = 2;
            b.extend(bytes);
        }
        if self.version == 4 {
            b.extend(self.extended.iter().flat_map(|r| r.bytes(true)));
        }
        b
    }
}
