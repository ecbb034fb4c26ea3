//! Tables of points as programs and people write them.

/// A way to write a table of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OddTable {
    /// What stands between fields.
    pub separator: char,
    /// Which fields stand between quotes.
    pub quotes: Quotes,
    /// What ends a line.
    pub line_end: &'static str,
    /// Lines without text.
    pub blanks: Blanks,
    /// The text before the rows.
    pub names: Names,
    /// The text at the starts and ends of rows.
    pub ends: Ends,
    /// Whether a byte order mark opens the file.
    pub has_mark: bool,
    /// Whether decimals stand behind commas.
    pub has_decimal_commas: bool,
}

/// Which fields stand between quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotes {
    /// None.
    None,
    /// Names and texts.
    Texts,
    /// All.
    All,
}

/// Lines without text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blanks {
    /// None.
    None,
    /// An empty column before all others.
    First,
    /// Blanks and a tab between rows, and an empty one.
    Between,
    /// Blanks at the end, tabs and an empty one.
    Last,
    /// Separators alone at the end, as spreadsheets leave them.
    Separators,
}

/// The text before the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// The names of the columns.
    Line,
    /// The names, y before x, and a column of texts whose name has each separator in it.
    WithText,
    /// Nothing.
    None,
    /// Nothing; a column of texts follows the numbers.
    NoneWithText,
    /// Nothing; a number of the point goes before northing, easting, height and a text.
    Survey,
    /// The names behind a comment mark, y before x.
    Comment(&'static str),
    /// How many rows there are.
    Count,
    /// The line by which Excel knows the separator, and names.
    Excel,
}

/// The text at the starts and ends of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Nothing.
    Plain,
    /// Blanks before some rows and behind others.
    Blanks,
    /// Tabs likewise.
    Tabs,
    /// A separator behind each row.
    Separator,
    /// A NUL behind each row.
    Nul,
    /// No end of the last line, but a Ctrl-Z.
    CtrlZ,
}

const QUOTES: [Quotes; 3] = [Quotes::None, Quotes::Texts, Quotes::All];
const BLANKS: [Blanks; 5] =
    [Blanks::None, Blanks::First, Blanks::Between, Blanks::Last, Blanks::Separators];
const NAMES: [Names; 10] = [
    Names::Line,
    Names::WithText,
    Names::None,
    Names::NoneWithText,
    Names::Survey,
    Names::Comment("#"),
    Names::Comment("% "),
    Names::Comment("//"),
    Names::Count,
    Names::Excel,
];
const ENDS: [Ends; 6] =
    [Ends::Plain, Ends::Blanks, Ends::Tabs, Ends::Separator, Ends::Nul, Ends::CtrlZ];

impl OddTable {
    /// All ways there are: 27,000.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for separator in [',', ';', '\t', '|', ' '] {
            for (quotes, names) in QUOTES.iter().flat_map(|q| NAMES.map(|n| (*q, n))) {
                for (blanks, ends) in BLANKS.iter().flat_map(|b| ENDS.map(|e| (*b, e))) {
                    for (line_end, has_mark) in [("\n", false), ("\r\n", true), ("\r", false)] {
                        for has_decimal_commas in [false, true] {
                            all.push(Self {
                                separator,
                                quotes,
                                line_end,
                                blanks,
                                names,
                                ends,
                                has_mark,
                                has_decimal_commas,
                            });
                        }
                    }
                }
            }
        }
        all
    }

    /// Whether the table is unambiguous: it is not if commas separate both decimals and fields.
    pub fn is_clear(&self) -> bool {
        !self.has_decimal_commas || self.separator != ',' || self.quotes == Quotes::All
    }

    /// What a user names as the columns of x, y and z.
    pub fn columns(&self) -> [&'static str; 3] {
        if self.names == Names::Survey { ["3", "2", "4"] } else { ["x", "y", "z"] }
    }

    /// The bytes of a table of these points.
    pub fn write(&self, points: &[[f64; 3]]) -> Vec<u8> {
        let mut lines = Vec::new();
        if self.blanks == Blanks::First {
            lines.push(String::new());
        }
        match self.names {
            Names::Line => lines.push(self.line(&["x", "y", "z"], true)),
            Names::WithText => lines.push(self.line(&["y", "x", "Z", self.odd_name()], true)),
            Names::Comment(mark) => {
                lines.push(format!("{mark}{}", self.line(&["y", "x", "z"], true)));
            }
            Names::Count => lines.push(points.len().to_string()),
            Names::Excel => {
                lines.push(format!("sep={}", self.separator));
                lines.push(self.line(&["x", "y", "z"], true));
            }
            Names::None | Names::NoneWithText | Names::Survey => {}
        }
        let rows = points.iter().enumerate();
        rows.for_each(|(row, point)| lines.extend(self.row(row, point, points.len())));
        match self.blanks {
            Blanks::Last => lines.extend(["   ", "\t\t", ""].map(str::to_owned)),
            Blanks::Separators => {
                lines.extend([2, 3].map(|count| self.separator.to_string().repeat(count)));
            }
            _ => {}
        }
        let mut text = lines.join(self.line_end);
        match self.ends {
            Ends::CtrlZ => text.push('\u{1A}'),
            _ => text += self.line_end,
        }
        let mark = if self.has_mark { "\u{FEFF}" } else { "" };
        format!("{mark}{text}").into_bytes()
    }

    /// A name with separators in it, where quotes allow that.
    fn odd_name(&self) -> &'static str {
        if self.quotes == Quotes::None { "note" } else { "note; or, remark|\tetc" }
    }

    fn row(&self, row: usize, [x, y, z]: &[f64; 3], rows: usize) -> Vec<String> {
        let number = |value: &f64| match self.has_decimal_commas {
            true => value.to_string().replace('.', ","),
            false => value.to_string(),
        };
        let [x, y, z] = [x, y, z].map(number);
        let text = if self.quotes == Quotes::None { "GRD" } else { "road, \"north\"; x" };
        let id = (row + 1).to_string();
        let line = match self.names {
            Names::WithText => self.line(&[&y, &x, &z, text], false),
            Names::NoneWithText => self.line(&[&x, &y, &z, text], false),
            Names::Survey => self.line(&[&id, &y, &x, &z, text], false),
            Names::Comment(_) => self.line(&[&y, &x, &z], false),
            _ => self.line(&[&x, &y, &z], false),
        };
        let line = match (self.ends, row % 3) {
            (Ends::Blanks, 1) => format!("  {line}"),
            (Ends::Blanks, 2) => format!("{line} "),
            (Ends::Tabs, 1) => format!("\t{line}"),
            (Ends::Tabs, 2) => format!("{line}\t"),
            (Ends::Separator, _) => format!("{line}{}", self.separator),
            (Ends::Nul, _) => format!("{line}\0"),
            _ => line,
        };
        match self.blanks {
            Blanks::Between if row + 1 < rows => {
                vec![line, " \t ".to_owned(), String::new()]
            }
            _ => vec![line],
        }
    }

    fn line(&self, fields: &[&str], is_names: bool) -> String {
        let field = |field: &&str| {
            let is_text = is_names || field.starts_with(|c: char| c.is_ascii_alphabetic());
            match self.quotes {
                Quotes::All => format!("\"{}\"", field.replace('"', "\"\"")),
                Quotes::Texts if is_text => format!("\"{}\"", field.replace('"', "\"\"")),
                _ => (*field).to_owned(),
            }
        };
        fields.iter().map(field).collect::<Vec<_>>().join(&self.separator.to_string())
    }
}
