//! Well-known text (WKT 1 of OGC, GDAL and ESRI, WKT 2 of 2015 and 2019): its nodes, and the parts of a damaged text
//! that are usable.

use std::borrow::Cow;

/// Bytes of the longest text that is taken: a GeoTIFF's keys count to here. Definitions have a few thousand.
const LONGEST: usize = 65_000;

/// Nodes within nodes that hold a system: a compound of a bound one, its source.
const DEEPEST: usize = 6;

const HORIZONTAL: [(&str, Kind); 12] = [
    ("PROJCS", Kind::Projected),
    ("PROJCRS", Kind::Projected),
    ("PROJECTEDCRS", Kind::Projected),
    ("DERIVEDPROJCRS", Kind::Projected),
    ("GEOGCS", Kind::Geographic),
    ("GEOGCRS", Kind::Geographic),
    ("GEOGRAPHICCRS", Kind::Geographic),
    ("GEODCRS", Kind::Geographic),
    ("GEODETICCRS", Kind::Geographic),
    ("LOCAL_CS", Kind::Local),
    ("ENGCRS", Kind::Local),
    ("ENGINEERINGCRS", Kind::Local),
];
const VERTICAL: [&str; 4] = ["VERT_CS", "VERTCS", "VERTCRS", "VERTICALCRS"];
const WRAPPERS: [&str; 4] = ["COMPD_CS", "COMPOUNDCRS", "BOUNDCRS", "SOURCECRS"];

/// The kind of horizontal coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Geographic,
    Projected,
    /// The system of a building site or a machine, at no known place on the Earth.
    Local,
}

/// A node of well-known text: `KEYWORD[...]`.
pub(super) struct Node<'a> {
    pub keyword: &'a str,
    pub inside: &'a str,
    /// The node as text: keyword, brackets and contents.
    pub whole: &'a str,
}

/// A text that GDAL and its like can load.
pub(super) struct Taken<'a> {
    pub text: Cow<'a, str>,
    /// Whether its text is a part of the given text, or was completed.
    pub is_mended: bool,
}

/// Returns the part of a text that can be a system of x and y. This is the whole text; where its brackets do not match,
/// it is the definitions of x and y and of heights inside. `None` if no reader could load any part.
pub(super) fn taken(text: &str) -> Option<Taken<'_>> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    // Some writers leave what was in their buffer behind the closing NUL.
    let text = text.split('\0').next().unwrap_or_default().trim_end();
    if text.len() > LONGEST {
        return None;
    }
    if is_geocentric(text) {
        return Some(Taken { text: text.into(), is_mended: false });
    }
    let is_whole = outermost(text).is_some();
    if is_whole
        && horizontal(text).is_some_and(|node| node.is_loadable())
        && vertical(text).is_none_or(|node| node.is_loadable())
    {
        return Some(Taken { text: text.into(), is_mended: false });
    }
    let at = first_of(text, |word| HORIZONTAL.iter().any(|(k, _)| k.eq_ignore_ascii_case(word)))?;
    let found = match leading(&text[at..]) {
        Some((node, _)) => Cow::Borrowed(node.whole),
        None => Cow::Owned(closed(&text[at..])?),
    };
    let (node, _) =
        leading(&found).filter(|(node, _)| node.is_loadable() && node.is_horizontal())?;
    let is_vertical = |word: &str| VERTICAL.iter().any(|k| k.eq_ignore_ascii_case(word));
    let heights = first_of(text, is_vertical).and_then(|at| leading(&text[at..]));
    let heights = heights.filter(|(node, _)| node.is_loadable());
    let Some((heights, rest)) = heights else {
        return Some(Taken { text: node.whole.to_owned().into(), is_mended: true });
    };
    let wrapper = if node.is_first_edition() { "COMPD_CS" } else { "COMPOUNDCRS" };
    let name = [&node, &heights].map(|node| node.name().unwrap_or_default()).join(" + ");
    let both = format!("{wrapper}[\"{name}\",{},{}]", node.whole, heights.whole);
    // ESRI writes the two one behind the other.
    let is_pair = text == format!("{},{}", node.whole, heights.whole) && rest.is_empty();
    Some(Taken { text: both.into(), is_mended: !is_pair })
}

/// A text without what defines no coordinates: where a system is used, remarks, and blanks between the parts.
pub(super) fn concise(text: &str) -> String {
    fn write(part: &str, depth: usize, out: &mut String) {
        const WORDS: [&str; 7] =
            ["USAGE", "SCOPE", "AREA", "BBOX", "VERTICALEXTENT", "TIMEEXTENT", "REMARK"];
        let node = outermost(part).filter(|_| depth > 0);
        let Some(node) = node else { return out.push_str(part.trim()) };
        out.push_str(node.keyword);
        let mut before = '[';
        for part in split(node.inside) {
            if !outermost(part).is_some_and(|node| WORDS.iter().any(|word| node.is(word))) {
                out.push(before);
                write(part, depth - 1, out);
                before = ',';
            }
        }
        out.push(']');
    }
    let mut out = String::with_capacity(text.len());
    write(text, 2 * DEEPEST, &mut out);
    out
}

/// Where the first word stands that is one of those sought and has a bracket behind it.
fn first_of(text: &str, is_sought: impl Fn(&str) -> bool) -> Option<usize> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(['[', '(']).find_map(|(open, _)| {
        let before = text[..open].trim_end();
        let start = before.trim_end_matches(is_letter).len();
        is_sought(&before[start..]).then_some(start)
    })
}

/// A text whose last brackets are missing, with them; `None` where more is missing.
fn closed(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let mut is_quoted = false;
    for c in text.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            '[' if !is_quoted => open.push(']'),
            '(' if !is_quoted => open.push(')'),
            ']' | ')' if !is_quoted => drop(open.pop()),
            _ => {}
        }
    }
    let end: String = open.iter().rev().collect();
    (!is_quoted).then(|| format!("{}{end}", text.trim_end_matches([',', ' ', '\t', '\r', '\n'])))
}

/// The node with which a text begins, and what stands behind it; `None` where its brackets or quotes do not close.
fn leading(text: &str) -> Option<(Node<'_>, &str)> {
    let text = text.trim_start();
    let open = text.find(['[', '('])?;
    let keyword = text[..open].trim_end();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if keyword.is_empty() || !keyword.chars().all(is_word) {
        return None;
    }
    let (mut depth, mut is_quoted) = (0_usize, false);
    for (i, c) in text[open..].char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '[' | '(' if !is_quoted => depth += 1,
            ']' | ')' if !is_quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let (end, whole) = (open + i, &text[..=open + i]);
            return Some((Node { keyword, inside: &text[open + 1..end], whole }, &text[end + 1..]));
        }
    }
    None
}

/// The node that is all of a text.
pub(super) fn outermost(text: &str) -> Option<Node<'_>> {
    leading(text).filter(|(_, rest)| rest.trim().is_empty()).map(|(node, _)| node)
}

/// The node that defines horizontal coordinates, however deep: `COMPD_CS`, `BOUNDCRS` wrap it.
pub(super) fn horizontal(text: &str) -> Option<Node<'_>> {
    within(text, DEEPEST, &|node: &Node| node.is_horizontal())
}

/// The node that defines heights, of a compound system.
pub(super) fn vertical(text: &str) -> Option<Node<'_>> {
    within(text, DEEPEST, &|node: &Node| node.is_vertical())
}

fn within<'a>(text: &'a str, depth: usize, is: &dyn Fn(&Node) -> bool) -> Option<Node<'a>> {
    let node = outermost(text)?;
    if is(&node) {
        return Some(node);
    }
    let is_wrapper = depth > 0 && WRAPPERS.iter().any(|k| node.is(k));
    split(node.inside).filter(|_| is_wrapper).find_map(|part| within(part, depth - 1, is))
}

/// Whether a system's coordinates are Cartesian ones of space.
pub(super) fn is_geocentric(text: &str) -> bool {
    let is = |node: &Node| node.is("GEOCCS") || node.is_geodetic() && node.is_cartesian();
    within(text, DEEPEST, &is).is_some()
}

impl<'a> Node<'a> {
    pub fn is(&self, keyword: &str) -> bool {
        self.keyword.eq_ignore_ascii_case(keyword)
    }

    /// Returns the kind of its horizontal coordinates, if it defines any.
    pub fn kind(&self) -> Option<Kind> {
        let found = HORIZONTAL.iter().find(|(keyword, _)| self.is(keyword));
        found.map(|(_, kind)| *kind).filter(|_| !(self.is_geodetic() && self.is_cartesian()))
    }

    fn is_horizontal(&self) -> bool {
        self.kind().is_some()
    }

    fn is_vertical(&self) -> bool {
        VERTICAL.iter().any(|k| self.is(k))
    }

    /// Geographic, or geocentric where its axes are Cartesian.
    fn is_geodetic(&self) -> bool {
        self.is("GEODCRS") || self.is("GEODETICCRS")
    }

    fn is_cartesian(&self) -> bool {
        let kind = self.child(&["CS"]).and_then(|axes| split(axes.inside).next());
        kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("Cartesian"))
    }

    /// Whether it is of WKT 1.
    fn is_first_edition(&self) -> bool {
        ["PROJCS", "GEOGCS", "LOCAL_CS"].iter().any(|k| self.is(k))
    }

    /// Whether a reader can make a system of it: by its code, or by the parts that it must have.
    fn is_loadable(&self) -> bool {
        let has = |keywords: &[&str]| self.child(keywords).is_some();
        let is_mixed = VERTICAL.iter().any(|k| has(&[k]));
        let is_defined = match self.kind() {
            Some(Kind::Projected) => {
                let base = ["GEOGCS", "BASEGEOGCRS", "BASEGEODCRS", "BASEPROJCRS"];
                has(&base) && has(&["PROJECTION", "CONVERSION", "DERIVINGCONVERSION"])
            }
            Some(Kind::Geographic) => has(&DATUMS),
            Some(Kind::Local) => true,
            None => has(&["VERT_DATUM", "VDATUM", "VERTICALDATUM", "VRF", "ENSEMBLE", "DATUM"]),
        };
        self.code().is_some() || is_defined && !is_mixed
    }

    /// The nodes directly inside.
    pub fn children(&self) -> impl Iterator<Item = Node<'a>> + use<'a> {
        split(self.inside).filter_map(outermost)
    }

    /// Returns the first node directly inside with one of these keywords.
    pub fn child(&self, keywords: &[&str]) -> Option<Node<'a>> {
        self.children().find(|part| keywords.iter().any(|k| part.is(k)))
    }

    /// The first word inside.
    pub fn name(&self) -> Option<String> {
        split(self.inside).next().map(|part| part.trim().trim_matches('"').to_owned())
    }

    /// Returns a word inside, without its quotes; the name is word 0.
    pub fn word(&self, number: usize) -> Option<&'a str> {
        split(self.inside).nth(number).map(|part| part.trim().trim_matches('"'))
    }

    /// Whether a projected system by Krovak's projection runs east and north, and not south and west. `list` has the
    /// parameters. Esri's signs of axes say it, and otherwise axes. Without either it runs south and west, as in GDAL.
    pub fn is_krovak_north_up(&self, list: &Node<'_>) -> bool {
        let sign = |part: Node<'_>| {
            (part.word(0)?.eq_ignore_ascii_case("X_Scale")).then(|| part.number(1))?
        };
        let axes = self.children().filter(|part| part.is("AXIS"));
        let mut ways = axes.filter_map(|axis| axis.word(1).map(str::to_ascii_lowercase));
        match list.children().find_map(sign) {
            Some(sign) => sign < 0.0,
            None => ways.next().is_some_and(|way| way != "south"),
        }
    }

    /// Returns a number inside; the name is word 0.
    pub fn number(&self, word: usize) -> Option<f64> {
        split(self.inside).nth(word)?.trim().parse().ok()
    }

    /// Metres or radians of `UNIT["foot",0.3048]` or `LENGTHUNIT["foot",0.3048]` directly inside the node, or inside
    /// its first axis, as in WKT 2.
    pub fn unit(&self) -> Option<f64> {
        match self.child(&["UNIT", "LENGTHUNIT", "ANGLEUNIT"]) {
            Some(unit) => unit.number(1).filter(|size| size.is_finite() && *size > 0.0),
            None => self.child(&["AXIS"])?.unit(),
        }
    }

    /// Returns the EPSG code of a coordinate system. `None` also if the code belongs to another kind of system, such as
    /// 4326 for a projected one: then the definition counts.
    pub fn system_code(&self) -> Option<u16> {
        self.code().filter(|&code| {
            let kind = crs_definitions::from_code(code).and_then(|d| horizontal(d.wkt)?.kind());
            kind.is_none_or(|kind| Some(kind) == self.kind())
        })
    }

    /// The code of `AUTHORITY["EPSG","26910"]` or `ID["EPSG",26910]` directly inside the node. ESRI's numbers below
    /// 32768 are EPSG codes.
    pub fn code(&self) -> Option<u16> {
        self.children().filter(|part| part.is("AUTHORITY") || part.is("ID")).find_map(|part| {
            let mut words = split(part.inside).map(|w| w.trim().trim_matches('"'));
            let authority = words.next()?;
            let code: u32 = words.next()?.parse().ok()?;
            match authority {
                _ if authority.eq_ignore_ascii_case("EPSG") => code.try_into().ok(),
                // Web Mercator, from before it had a code.
                _ if authority.eq_ignore_ascii_case("ESRI") => match code {
                    102_100 | 102_113 => Some(3857),
                    _ => code.try_into().ok().filter(|&code| code < 32_767),
                },
                _ => None,
            }
        })
    }
}

/// Nodes that state what an ellipsoid is fixed to.
pub(super) const DATUMS: [&str; 5] = ["DATUM", "GEODETICDATUM", "TRF", "DYNAMICDATUM", "ENSEMBLE"];

/// The parts between the commas that lie in no inner brackets and no quotes.
pub(super) fn split(inside: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quoted) = (0_usize, false);
    inside.split(move |c| {
        match c {
            '"' => quoted = !quoted,
            '[' | '(' if !quoted => depth += 1,
            ']' | ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => return true,
            _ => {}
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UTM: &str = r#"PROJCS["utm",GEOGCS["g",DATUM["d",SPHEROID["s",6378137,298.257]]],PROJECTION["Transverse_Mercator"],UNIT["metre",1],AUTHORITY["EPSG","26910"]]"#;
    const HEIGHTS: &str = r#"VERT_CS["h",VERT_DATUM["vd",2005],UNIT["foot",0.3048]]"#;

    #[test]
    fn a_bracket_too_many_or_too_few_leaves_the_definitions_inside() {
        let both = format!(r#"COMPD_CS["utm + h",{UTM},{HEIGHTS}]"#);
        for (text, expected, is_mended) in [
            (UTM.to_owned(), UTM, false),
            (format!("{UTM}\0\0left over"), UTM, false),
            (format!(r#"COMPD_CS["c",{UTM}],{HEIGHTS}]]"#), &both, true),
            (format!(r#"COMPD_CS["c",{UTM},{HEIGHTS}"#), &both, true),
            (format!("{UTM},{HEIGHTS}"), &both, false),
            (format!("{UTM}]"), UTM, true),
            (UTM[..UTM.len() - 1].to_owned(), UTM, true),
            (UTM[..UTM.len() - 2].to_owned(), UTM, true),
            (format!(r#"COMPD_CS["c",{UTM},VERT_CS["h"]]"#), UTM, true),
        ] {
            let found = taken(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.text.as_ref(), found.is_mended), (expected, is_mended), "{text}");
        }
    }

    #[test]
    fn what_defines_nothing_is_left_out_of_a_concise_text() {
        let text = r#"COMPOUNDCRS["a, [b]", PROJCRS ["p",USAGE[SCOPE["s"],AREA["a"],BBOX[1,2,3,4]], CS(Cartesian, 2) ,
            UNIT["metre",1] , REMARK["r"]],VERTCRS["v",USAGE[SCOPE["s"]]]]"#;
        let wanted =
            r#"COMPOUNDCRS["a, [b]",PROJCRS["p",CS[Cartesian,2],UNIT["metre",1]],VERTCRS["v"]]"#;
        assert_eq!(concise(text), wanted);
        assert_eq!(concise("no node"), "no node");
        let deep = format!("{}1{}", "A[".repeat(20_000), "]".repeat(20_000));
        assert_eq!(concise(&deep), deep);
    }

    #[test]
    fn what_no_reader_can_load_is_not_taken() {
        let cut_within = &UTM[..UTM.find("PROJECTION").unwrap()];
        let local_only = r#"PROJCS["x",GEOGCS["g",AUTHORITY["EPSG","4326"]]]"#;
        let long = format!("{UTM}{}", " ".repeat(LONGEST));
        assert!(taken(&long).is_some());
        let long = format!("PROJCS[\"{}\"{}", "x".repeat(LONGEST), &UTM[12..]);
        let nested = "COMPD_CS[".repeat(6000);
        for text in ["", "\0", "hello world", "]", "[", cut_within, local_only, &long, &nested] {
            assert!(taken(text).is_none(), "{text}");
        }
    }
}
