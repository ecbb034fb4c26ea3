//! Coded trees in files: a tree of codes, followed by the table of codes.

use std::io::Write;
use std::path::Path;

use gpu_core::files;

use super::{CodedTree, Codes, Stored, of_stored};
use crate::file::{CONTRADICTS, CodesHeader, CodesPart, KINDS, crc, failed, node_kind};
use crate::{Number, Result, Tree};

impl<T: Number> Codes<T> {
    /// As a file has them.
    pub(super) fn part(&self, nodata: Option<T>) -> CodesPart {
        let ranks: Vec<u64> = self.values.iter().filter_map(|value| value.rank()).collect();
        let header = CodesHeader {
            kind: T::TYPE,
            are_bins: self.are_bins,
            nodata: nodata.and_then(Number::rank),
            count: ranks.len() as u64,
            crc: crc(bytemuck::cast_slice(&ranks)),
        };
        CodesPart { header, ranks }
    }
}

impl<T: Number> CodedTree<T> {
    /// As [`Tree::save`].
    ///
    /// # Errors
    /// [`Error::File`](crate::Error::File).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        files::replace(path, |file| self.write_to(file)).map_err(|e| failed(path, e))
    }

    /// Writes the file's bytes.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_to(&self, to: impl Write) -> std::io::Result<()> {
        let codes = self.codes.part(self.nodata);
        of_stored!(&self.tree, tree => tree.write_in(&tree.system, Some(&codes), to))
    }

    /// As [`Tree::read`].
    ///
    /// # Errors
    /// The errors of [`Tree::read`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Ok(match node_kind(path)? {
            u16::TYPE => {
                let (tree, codes) = Tree::read_with_codes(path)?;
                Self::of_parts(path, Stored::Short(tree), codes)?
            }
            _ => {
                let (tree, codes) = Tree::read_with_codes(path)?;
                Self::of_parts(path, Stored::Long(tree), codes)?
            }
        })
    }

    /// Opens a file as [`Tree::map`] does, but copies the table of codes.
    ///
    /// # Errors
    /// The errors of [`Tree::read`].
    ///
    /// # Safety
    /// As [`Tree::map`].
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Ok(match node_kind(path)? {
            u16::TYPE => {
                // SAFETY: passed on to the caller.
                let (tree, codes) = unsafe { Tree::map_with_codes(path) }?;
                Self::of_parts(path, Stored::Short(tree), codes)?
            }
            _ => {
                // SAFETY: passed on to the caller.
                let (tree, codes) = unsafe { Tree::map_with_codes(path) }?;
                Self::of_parts(path, Stored::Long(tree), codes)?
            }
        })
    }

    fn of_parts(path: &Path, tree: Stored, codes: Option<CodesPart>) -> Result<Self> {
        let CodesPart { header, ranks } =
            codes.ok_or_else(|| failed(path, "its nodes hold values: read it as a Tree"))?;
        if header.kind != T::TYPE {
            let found = KINDS[header.kind as usize];
            return Err(failed(path, format!("its values are {found}, not {}", T::NAME)));
        }
        let value = |rank: u64| {
            let value = T::of_rank(rank);
            let is_sound = (T::RANKS.0..=T::RANKS.1).contains(&rank) && value.rank() == Some(rank);
            is_sound.then_some(value).ok_or_else(|| failed(path, CONTRADICTS))
        };
        let values = ranks.into_iter().map(value).collect::<Result<_>>()?;
        let codes = Codes { values, are_bins: header.are_bins };
        codes.check().map_err(|_| failed(path, CONTRADICTS))?;
        let nodata = header.nodata.map(value).transpose()?;
        let params = of_stored!(&tree, tree => tree.params());
        if *params != codes.params(nodata) || codes.are_short() != matches!(tree, Stored::Short(_))
        {
            return Err(failed(path, CONTRADICTS));
        }
        Ok(Self { tree, codes: codes.into(), nodata })
    }
}
