//! The `zarr.json` of an array.

use serde_json::{Map, Value};

use super::codecs::Codecs;
use super::fill_value::{fill, stated};
use super::json::whole_numbers;
use super::sharding::Sharding;
use crate::{Number, SampleType};

/// The metadata of an array.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    pub shape: Vec<u64>,
    /// Elements of a chunk along each dimension.
    pub chunk: Vec<u64>,
    pub sample_type: SampleType,
    /// The value of elements in missing chunks.
    pub fill: Number,
    pub codecs: Codecs,
    /// How chunks lie in shards.
    pub sharding: Option<Sharding>,
    /// The separator between the numbers of a chunk's name, and whether `c` stands before them.
    pub separator: String,
    pub is_prefixed: bool,
    pub attributes: Map<String, Value>,
    pub dimensions: Vec<Option<String>>,
}

impl Metadata {
    /// Takes the JSON of an array.
    ///
    /// # Errors
    /// Names the part that is missing or that geo-io does not read.
    pub fn of(json: &Value) -> Result<Self, String> {
        let shape = whole_numbers(&json["shape"], "shape")?;
        let grid = &json["chunk_grid"];
        if grid["name"] != "regular" {
            return Err(format!("its chunk grid is {}: geo-io reads regular ones", grid["name"]));
        }
        let chunk = whole_numbers(&grid["configuration"]["chunk_shape"], "chunk_shape")?;
        if chunk.len() != shape.len() || chunk.contains(&0) {
            return Err(format!("its chunks {chunk:?} do not divide its shape {shape:?}"));
        }
        let sample_type = sample_type(&json["data_type"])?;
        let fill = fill(&json["fill_value"], sample_type).ok_or_else(|| {
            format!("its fill_value {} does not fit {sample_type}", json["fill_value"])
        })?;
        let key = &json["chunk_key_encoding"];
        let is_prefixed = match key["name"].as_str() {
            Some("default") | None => true,
            Some("v2") => false,
            Some(other) => {
                return Err(format!(
                    "its chunk key encoding is {other:?}: geo-io reads default and v2"
                ));
            }
        };
        let separator = key["configuration"]["separator"].as_str();
        let separator = separator.unwrap_or(if is_prefixed { "/" } else { "." }).to_owned();
        if !["/", "."].contains(&&separator[..]) {
            return Err(format!(
                "its separator of chunk keys is {separator:?}: geo-io reads / and ."
            ));
        }
        if json["storage_transformers"].as_array().is_some_and(|list| !list.is_empty()) {
            return Err("it has storage transformers, which geo-io does not read".to_owned());
        }
        let (chunk, codecs, sharding) = match Sharding::of(&json["codecs"], &chunk)? {
            Some((chunk, codecs, sharding)) => (chunk, codecs, Some(sharding)),
            None => (chunk, Codecs::read(&json["codecs"])?, None),
        };
        let attributes = json["attributes"].as_object().cloned().unwrap_or_default();
        let names = json["dimension_names"].as_array().map_or(&[][..], Vec::as_slice);
        let name = |i: usize| Some(names.get(i)?.as_str()?.to_owned());
        let dimensions = (0..shape.len()).map(name).collect();
        Ok(Self {
            shape,
            chunk,
            sample_type,
            fill,
            codecs,
            sharding,
            separator,
            is_prefixed,
            attributes,
            dimensions,
        })
    }

    /// The name of a chunk, or of a shard, in its array's folder.
    pub fn key(&self, chunk: &[u64]) -> String {
        let numbers: Vec<String> = chunk.iter().map(u64::to_string).collect();
        let numbers = numbers.join(&self.separator);
        match self.is_prefixed {
            true if chunk.is_empty() => "c".to_owned(),
            true => format!("c{}{numbers}", self.separator),
            false if chunk.is_empty() => "0".to_owned(),
            false => numbers,
        }
    }

    /// Bytes of an unpacked chunk.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk.iter().fold(self.sample_type.bytes(), |bytes, &side| bytes.saturating_mul(side))
    }

    /// The value that stands for NODATA: `_FillValue` or `missing_value`; else the value of missing chunks, unless this
    /// is 0, which writers state without meaning.
    pub fn nodata(&self) -> Option<Number> {
        let stated = NODATA.into_iter().find_map(|name| {
            self.sample_type.value(stated(self.attributes.get(name)?, self.sample_type)?)
        });
        stated.or(Some(self.fill).filter(|fill| *fill != Number::from(0u8)))
    }

    /// Returns a note on NODATA that the attributes state by something else than a number.
    pub fn note_on_nodata(&self) -> Option<String> {
        let (name, value) =
            NODATA.into_iter().find_map(|name| Some((name, self.attributes.get(name)?)))?;
        stated(value, self.sample_type).is_none().then(|| {
            format!("its {name} {value} is not a number, so it does not say which value is NODATA")
        })
    }
}

/// The attributes that state NODATA, in the order in which they count.
const NODATA: [&str; 2] = ["_FillValue", "missing_value"];

fn sample_type(name: &Value) -> Result<SampleType, String> {
    Ok(match name.as_str().unwrap_or_default() {
        "bool" => SampleType::Bool,
        "uint8" => SampleType::U8,
        "int8" => SampleType::I8,
        "uint16" => SampleType::U16,
        "int16" => SampleType::I16,
        "uint32" => SampleType::U32,
        "int32" => SampleType::I32,
        "uint64" => SampleType::U64,
        "int64" => SampleType::I64,
        "float16" => SampleType::F16,
        "float32" => SampleType::F32,
        "float64" => SampleType::F64,
        _ => return Err(format!("its data type is {name}: geo-io reads integers and floats")),
    })
}
