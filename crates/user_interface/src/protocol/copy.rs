//! The data of COPY: text, CSV and binary, decoded row by row and encoded row by row (PostgreSQL 15, "COPY").
//!
//! Invariant: the decoder holds at most one incomplete row, bounded by [`COPY_LINE_BYTES_MAX`], beside what was pushed last.

use crate::errors::{Result, SqlError, sqlstate};
use crate::limits::COPY_LINE_BYTES_MAX;
use crate::protocol::frontend::Reader;
use values::{Type, Value, Zone};

/// First bytes of binary COPY data.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// How the data looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines of fields with backslash escapes.
    Text,
    /// Lines of fields with quotes.
    Csv,
    /// PostgreSQL's binary format.
    Binary,
}

/// The options of COPY that concern its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How the data looks.
    pub format: Format,
    /// Between fields.
    pub delimiter: u8,
    /// What stands for NULL.
    pub null: String,
    /// Whether the first line names the columns.
    pub header: bool,
    /// CSV: around fields.
    pub quote: u8,
    /// CSV: before a quote within quotes.
    pub escape: u8,
}

impl Options {
    /// PostgreSQL's defaults of a format.
    pub fn of(format: Format) -> Options {
        Options {
            format,
            delimiter: if format == Format::Csv { b',' } else { b'\t' },
            null: if format == Format::Csv { String::new() } else { "\\N".to_string() },
            header: false,
            quote: b'"',
            escape: b'"',
        }
    }
}

/// A column that COPY fills or reads.
#[derive(Clone, Debug)]
pub struct CopyColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: Type,
}

/// How lines end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Newline,
    Return,
    ReturnNewline,
}

/// A line in the buffer.
struct Line {
    /// Where it ends, without its line break or the end-of-data mark.
    end: usize,
    /// Where the next one begins.
    next: usize,
    /// The end-of-data mark follows it.
    ends_data: bool,
}

/// What a backslash and a point are.
enum Mark {
    /// The end of the data, up to this place.
    End(usize),
    /// Data.
    Data,
    /// More has to come.
    Open,
}

/// Turns COPY data into rows.
#[derive(Debug)]
pub struct Decoder {
    options: Options,
    columns: Vec<CopyColumn>,
    /// Where texts are read that name no zone.
    zone: Zone,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that have become rows.
    taken: usize,
    /// Bytes from `taken` on in which no row's end was found, and whether they end within quotes: a long row is not searched from
    /// its start each time more of it comes.
    searched: usize,
    in_quotes: bool,
    /// CSV: an escape was the last thing before `searched`.
    escaped: bool,
    /// How lines end, which the first of them tells.
    line_end: Option<LineEnd>,
    line: u64,
    header_due: bool,
    /// The end-of-data mark was met: what follows is ignored.
    ended: bool,
}

impl Decoder {
    /// For data of these columns.
    pub fn new(options: Options, columns: Vec<CopyColumn>, zone: Zone) -> Decoder {
        Decoder {
            header_due: options.header || options.format == Format::Binary,
            options,
            columns,
            zone,
            buffer: Vec::new(),
            taken: 0,
            searched: 0,
            in_quotes: false,
            escaped: false,
            line_end: None,
            line: 0,
            ended: false,
        }
    }

    /// More data.
    pub fn push(&mut self, data: &[u8]) {
        // Behind the mark of a text anything may come, behind a binary trailer nothing.
        if self.ended && self.options.format != Format::Binary {
            return;
        }
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(data);
    }

    /// Bytes that have not become rows.
    pub fn waiting(&self) -> usize {
        self.buffer.len() - self.taken
    }

    /// The next whole row; `last`: no more data will come. Errors: 22P04 for data of another shape, and those of the types' input.
    pub fn next_row(&mut self, last: bool) -> Result<Option<Vec<Value>>> {
        let row = if self.options.format == Format::Binary { self.next_binary(last) } else { self.next_line(last) };
        row.map_err(|error| match error.detail {
            None => {
                let line = self.line;
                error.with_detail(format!("COPY, line {line}."))
            }
            Some(_) => error,
        })
    }

    fn next_line(&mut self, last: bool) -> Result<Option<Vec<Value>>> {
        loop {
            if self.ended {
                return Ok(None);
            }
            let Some(Line { end, next, ends_data }) = self.find_line(last)? else {
                return Ok(None);
            };
            let range = self.taken..end;
            self.taken = next;
            (self.searched, self.in_quotes, self.escaped) = (0, false, false);
            self.ended = ends_data;
            if ends_data && range.is_empty() {
                return Ok(None);
            }
            self.line += 1;
            let line = &self.buffer[range];
            if std::mem::take(&mut self.header_due) {
                continue;
            }
            let fields = match self.options.format {
                Format::Csv => split_csv(line, &self.options)?,
                _ => split_text(line, &self.options)?,
            };
            return self.row(fields).map(Some);
        }
    }

    /// The next line, as `CopyReadLineText` finds it. Errors: 22P04 for line breaks of several kinds, and for an end-of-data mark that is no line
    /// of its own.
    fn find_line(&mut self, last: bool) -> Result<Option<Line>> {
        let rest = &self.buffer[self.taken..];
        let csv = self.options.format == Format::Csv;
        let (quote, escape) = (self.options.quote, self.options.escape);
        while let Some(&byte) = rest.get(self.searched) {
            let at = self.searched;
            // What follows these decides what they are.
            if matches!(byte, b'\\' | b'\r') && at + 1 == rest.len() && !last {
                break;
            }
            if csv {
                if self.in_quotes && escape != quote && byte == escape {
                    self.escaped = !self.escaped;
                }
                if byte == quote && !self.escaped {
                    self.in_quotes = !self.in_quotes;
                }
                if byte != escape || escape == quote {
                    self.escaped = false;
                }
            }
            let mut step = 1;
            if matches!(byte, b'\r' | b'\n') && !self.in_quotes {
                let (kind, next) = line_break(self.line_end, byte, rest.get(at + 1).copied(), csv)?;
                self.line_end = Some(kind);
                let (end, next) = (self.taken + at, self.taken + at + next);
                return Ok(Some(Line { end, next, ends_data: false }));
            }
            if byte == b'\\' && rest.get(at + 1) == Some(&b'.') && (!csv || at == 0) {
                match mark(self.line_end, &rest[at + 2..], csv, last)? {
                    Mark::End(next) => {
                        let (end, next) = (self.taken + at, self.taken + at + 2 + next);
                        return Ok(Some(Line { end, next, ends_data: true }));
                    }
                    Mark::Data => {}
                    Mark::Open => break,
                }
            } else if byte == b'\\' && !csv {
                // What an escape hides is no line break.
                step = 2;
            }
            self.searched += step;
        }
        if last && !rest.is_empty() {
            if self.in_quotes {
                return Err(bad("unterminated CSV quoted field"));
            }
            return Ok(Some(Line { end: self.buffer.len(), next: self.buffer.len(), ends_data: false }));
        }
        if rest.len() > COPY_LINE_BYTES_MAX {
            return Err(SqlError::new(
                sqlstate::PROGRAM_LIMIT_EXCEEDED,
                format!("a line of COPY data exceeds {COPY_LINE_BYTES_MAX} bytes"),
            ));
        }
        Ok(None)
    }

    fn row(&self, fields: Vec<Option<Vec<u8>>>) -> Result<Vec<Value>> {
        if fields.len() > self.columns.len() {
            return Err(SqlError::new(sqlstate::BAD_COPY, "extra data after last expected column"));
        }
        if let Some(column) = self.columns.get(fields.len()) {
            return Err(SqlError::new(sqlstate::BAD_COPY, format!("missing data for column \"{}\"", column.name)));
        }
        let line = self.line;
        fields
            .into_iter()
            .zip(&self.columns)
            .map(|(field, column)| match field {
                None => Ok(Value::Null),
                Some(bytes) => values::text::parse_bytes_in(&bytes, column.data_type, &self.zone).map_err(|error| {
                    Box::<SqlError>::from(error).with_detail(format!("COPY, line {line}, column {}.", column.name))
                }),
            })
            .collect()
    }

    fn next_binary(&mut self, last: bool) -> Result<Option<Vec<Value>>> {
        if self.ended {
            return match self.waiting() {
                0 => Ok(None),
                _ => Err(bad("received copy data after EOF marker")),
            };
        }
        let mut reader = Reader(&self.buffer[self.taken..]);
        match self.read_binary(&mut reader) {
            Ok(row) => {
                self.taken = self.buffer.len() - reader.0.len();
                self.header_due = false;
                match row {
                    None => self.ended = true,
                    Some(_) => self.line += 1,
                }
                Ok(row)
            }
            // Cut short: wait for more, unless none will come or a length in it is absurd.
            Err(error) if error.sqlstate == sqlstate::PROTOCOL_VIOLATION => {
                let held = self.buffer.len() - self.taken;
                if last && held == 0 && !self.header_due {
                    Ok(None)
                } else if last || held > COPY_LINE_BYTES_MAX {
                    Err(SqlError::new(sqlstate::BAD_COPY, "unexpected EOF in COPY data"))
                } else {
                    Ok(None)
                }
            }
            Err(error) => Err(error),
        }
    }

    /// One row, the header before it if it is due; `None` at the trailer. Errors: 08P01 when the bytes end too early.
    fn read_binary(&self, reader: &mut Reader) -> Result<Option<Vec<Value>>> {
        if self.header_due {
            if reader.array::<11>()? != *SIGNATURE {
                return Err(SqlError::new(sqlstate::BAD_COPY, "COPY file signature not recognized"));
            }
            let flags = u32::from_be_bytes(reader.array()?);
            if flags != 0 {
                return Err(SqlError::new(sqlstate::BAD_COPY, "unrecognized critical flags in COPY file header"));
            }
            let extension = u32::from_be_bytes(reader.array()?) as usize;
            reader.take(extension)?;
        }
        let count = i16::from_be_bytes(reader.array()?);
        if count == -1 {
            return Ok(None);
        }
        if usize::try_from(count) != Ok(self.columns.len()) {
            return Err(SqlError::new(
                sqlstate::BAD_COPY,
                format!("row field count is {count}, expected {}", self.columns.len()),
            ));
        }
        let mut row = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            row.push(match reader.field()? {
                None => Value::Null,
                Some(bytes) => values::binary::parse(bytes, column.data_type)?,
            });
        }
        Ok(Some(row))
    }
}

fn bad(message: &str) -> Box<SqlError> {
    SqlError::new(sqlstate::BAD_COPY, message)
}

/// What kind of line break this byte begins, and how long it is. Errors: 22P04 for another kind than before.
fn line_break(before: Option<LineEnd>, byte: u8, next: Option<u8>, csv: bool) -> Result<(LineEnd, usize)> {
    let stray = |what: &str, escape: &str| {
        let (how, hint) = match csv {
            true => ("unquoted", format!("Use quoted CSV field to represent {what}.")),
            false => ("literal", format!("Use \"{escape}\" to represent {what}.")),
        };
        Err(bad(&format!("{how} {what} found in data")).with_hint(hint))
    };
    match (byte, before) {
        (b'\r', None | Some(LineEnd::ReturnNewline)) if next == Some(b'\n') => Ok((LineEnd::ReturnNewline, 2)),
        (b'\r', None | Some(LineEnd::Return)) => Ok((LineEnd::Return, 1)),
        (b'\r', _) => stray("carriage return", "\\r"),
        (_, None | Some(LineEnd::Newline)) => Ok((LineEnd::Newline, 1)),
        _ => stray("newline", "\\n"),
    }
}

/// What `\.` before these bytes is. Errors: 22P04.
fn mark(line_end: Option<LineEnd>, behind: &[u8], csv: bool, last: bool) -> Result<Mark> {
    let corrupt = |message: &str| if csv { Ok(Mark::Data) } else { Err(bad(message)) };
    let style = "end-of-copy marker does not match previous newline style";
    let mut place = 0;
    if line_end == Some(LineEnd::ReturnNewline) {
        match behind.first() {
            None if !last => return Ok(Mark::Open),
            Some(b'\r') => place = 1,
            Some(b'\n') => return corrupt(style),
            _ => return corrupt("end-of-copy marker corrupt"),
        }
    }
    match (behind.get(place), line_end) {
        (None, _) if !last => Ok(Mark::Open),
        (Some(b'\r' | b'\n'), None)
        | (Some(b'\n'), Some(LineEnd::Newline | LineEnd::ReturnNewline))
        | (Some(b'\r'), Some(LineEnd::Return)) => Ok(Mark::End(place + 1)),
        (Some(b'\r' | b'\n'), _) => Err(bad(style)),
        _ => corrupt("end-of-copy marker corrupt"),
    }
}

/// The fields of a line in text format, `None` for NULL.
fn split_text(line: &[u8], options: &Options) -> Result<Vec<Option<Vec<u8>>>> {
    let mut fields = Vec::new();
    let mut start = 0;
    loop {
        let mut end = start;
        while end < line.len() && line[end] != options.delimiter {
            end += if line[end] == b'\\' { 2 } else { 1 };
        }
        let end_of_field = end.min(line.len());
        let raw = &line[start..end_of_field];
        fields.push((raw != options.null.as_bytes()).then(|| unescape(raw)));
        if end >= line.len() {
            return Ok(fields);
        }
        start = end + 1;
    }
}

/// Resolves backslash escapes.
fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut field = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let Some((&escaped, after)) = rest.split_first().filter(|_| byte == b'\\') else {
            field.push(byte);
            continue;
        };
        rest = after;
        field.push(match escaped {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => {
                let mut code = u32::from(escaped - b'0');
                for _ in 0..2 {
                    let Some((&digit @ b'0'..=b'7', after)) = rest.split_first() else {
                        break;
                    };
                    code = code * 8 + u32::from(digit - b'0');
                    rest = after;
                }
                code as u8
            }
            b'x' if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
                let mut code = 0;
                for _ in 0..2 {
                    let Some((digit, after)) =
                        rest.split_first().and_then(|(digit, after)| Some((char::from(*digit).to_digit(16)?, after)))
                    else {
                        break;
                    };
                    code = code * 16 + digit;
                    rest = after;
                }
                code as u8
            }
            other => other,
        });
    }
    field
}

/// The fields of a CSV record, `None` for NULL, which is never quoted.
fn split_csv(line: &[u8], options: &Options) -> Result<Vec<Option<Vec<u8>>>> {
    let mut fields = Vec::new();
    let mut field = Vec::new();
    let (mut in_quotes, mut quoted) = (false, false);
    let mut at = 0;
    while at < line.len() {
        let byte = line[at];
        at += 1;
        if in_quotes {
            let next = line.get(at).copied();
            if byte == options.escape && next.is_some_and(|next| next == options.quote || next == options.escape) {
                field.extend(next);
                at += 1;
            } else if byte == options.quote {
                in_quotes = false;
            } else {
                field.push(byte);
            }
        } else if byte == options.quote {
            (in_quotes, quoted) = (true, true);
        } else if byte == options.delimiter {
            let whole = std::mem::take(&mut field);
            fields.push((quoted || whole != options.null.as_bytes()).then_some(whole));
            quoted = false;
        } else {
            field.push(byte);
        }
    }
    if in_quotes {
        return Err(SqlError::new(sqlstate::BAD_COPY, "unterminated CSV quoted field"));
    }
    fields.push((quoted || field != options.null.as_bytes()).then_some(field));
    Ok(fields)
}

/// Appends what comes before the first row.
pub fn write_header(options: &Options, columns: &[CopyColumn], out: &mut Vec<u8>) {
    match options.format {
        Format::Binary => {
            out.extend_from_slice(SIGNATURE);
            out.extend_from_slice(&[0; 8]);
        }
        _ if options.header => {
            let names: Vec<Value> = columns.iter().map(|column| Value::text(column.name.as_str())).collect();
            write_fields(options, &names, columns, &Zone::UTC, |_| Type::Text, out);
        }
        _ => {}
    }
}

/// Appends a row, in a time zone.
pub fn write_row(options: &Options, row: &[Value], columns: &[CopyColumn], zone: &Zone, out: &mut Vec<u8>) {
    if options.format == Format::Binary {
        out.extend_from_slice(&(row.len() as i16).to_be_bytes());
        for (value, column) in row.iter().zip(columns) {
            let start = out.len();
            out.extend_from_slice(&(-1i32).to_be_bytes());
            if !value.is_null() {
                values::binary::write(value, column.data_type, out);
                let length = (out.len() - start - 4) as i32;
                out[start..start + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
    } else {
        write_fields(options, row, columns, zone, |column| column.data_type, out);
    }
}

/// Appends what comes behind the last row.
pub fn write_trailer(options: &Options, out: &mut Vec<u8>) {
    if options.format == Format::Binary {
        out.extend_from_slice(&(-1i16).to_be_bytes());
    }
}

fn write_fields(
    options: &Options,
    row: &[Value],
    columns: &[CopyColumn],
    zone: &Zone,
    type_of: impl Fn(&CopyColumn) -> Type,
    out: &mut Vec<u8>,
) {
    let mut text = Vec::new();
    for (index, (value, column)) in row.iter().zip(columns).enumerate() {
        if index > 0 {
            out.push(options.delimiter);
        }
        if value.is_null() {
            out.extend_from_slice(options.null.as_bytes());
            continue;
        }
        text.clear();
        values::text::write_in(value, type_of(column), zone, &mut text);
        if options.format == Format::Csv {
            write_csv_field(options, &text, row.len() == 1, out);
        } else {
            write_text_field(options, &text, out);
        }
    }
    out.push(b'\n');
}

fn write_text_field(options: &Options, text: &[u8], out: &mut Vec<u8>) {
    for &byte in text {
        let escaped = match byte {
            b'\\' => b'\\',
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            _ if byte == options.delimiter => byte,
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', escaped]);
    }
}

fn write_csv_field(options: &Options, text: &[u8], alone: bool, out: &mut Vec<u8>) {
    let special = |byte: &u8| *byte == options.delimiter || *byte == options.quote || matches!(*byte, b'\n' | b'\r');
    let quoted = text == options.null.as_bytes() || (alone && text == b"\\.") || text.iter().any(special);
    if !quoted {
        out.extend_from_slice(text);
        return;
    }
    out.push(options.quote);
    for &byte in text {
        if byte == options.quote || byte == options.escape {
            out.push(options.escape);
        }
        out.push(byte);
    }
    out.push(options.quote);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn columns() -> Vec<CopyColumn> {
        [("a", Type::Integer), ("b", Type::Text)]
            .map(|(name, data_type)| CopyColumn { name: name.to_string(), data_type })
            .to_vec()
    }

    /// Decodes data that comes in pieces of `piece` bytes.
    fn decode(options: Options, data: &[u8], piece: usize) -> Result<Vec<Vec<Value>>> {
        let mut decoder = Decoder::new(options, columns(), Zone::UTC);
        let mut rows = Vec::new();
        for chunk in data.chunks(piece) {
            decoder.push(chunk);
            while let Some(row) = decoder.next_row(false)? {
                rows.push(row);
            }
        }
        while let Some(row) = decoder.next_row(true)? {
            rows.push(row);
        }
        Ok(rows)
    }

    fn row(number: i32, text: &str) -> Vec<Value> {
        vec![Value::Integer(number), Value::text(text)]
    }

    /// Where a network packet ends must not change what is loaded.
    #[test]
    fn text_rows_come_in_any_pieces() {
        let data = b"1\tone\n2\t\\N\n3\ta\\tb\\\\c\\x41\\101\n4\tx\\\ny\n\\.\nrubbish";
        for piece in 1..data.len() {
            let rows = decode(Options::of(Format::Text), data, piece).expect("good data");
            assert_eq!(
                rows,
                [row(1, "one"), vec![Value::Integer(2), Value::Null], row(3, "a\tb\\cAA"), row(4, "x\ny")],
                "{piece}"
            );
        }
    }

    /// Quoted line breaks, doubled quotes and quoted empties are what CSV is about.
    #[test]
    fn csv_rows_come_in_any_pieces() {
        let data = b"a,b\n1,\"one\nline, \"\"two\"\"\"\n2,\n3,\"\"\n4,x\"y\"z";
        for (escape, piece) in (1..data.len()).flat_map(|piece| [(b'"', piece), (b'\\', piece)]) {
            let mut options = Options::of(Format::Csv);
            options.header = true;
            options.escape = escape;
            let rows = decode(options, data, piece);
            if escape == b'"' {
                assert_eq!(
                    rows.expect("good data"),
                    [row(1, "one\nline, \"two\""), vec![Value::Integer(2), Value::Null], row(3, ""), row(4, "xyz")],
                    "{piece}"
                );
            }
        }
    }

    /// Wrong data must name what is wrong, as PostgreSQL does, and load nothing.
    #[test]
    fn wrong_shapes_are_refused() {
        let cases: [(&[u8], &str); 4] = [
            (b"1\n", "missing data for column \"b\""),
            (b"1\t2\t3\n", "extra data after last expected column"),
            (b"x\ty\n", "invalid input syntax for type integer: \"x\""),
            (b"1\t\xff\n", "invalid byte sequence for encoding \"UTF8\": 0xff"),
        ];
        for (data, message) in cases {
            let error = decode(Options::of(Format::Text), data, 100).expect_err("bad data");
            assert_eq!(error.message, message);
        }
        let error = decode(Options::of(Format::Binary), b"PGCOPY\n\xff\r\n", 4).expect_err("cut");
        assert_eq!(error.message, "unexpected EOF in COPY data");
    }

    /// Files of all three kinds of line breaks are read; what PostgreSQL refuses must not be loaded as something else.
    #[test]
    fn line_breaks_and_marks_are_those_of_postgresql() {
        let two = || vec![row(1, "a"), row(2, "b")];
        let good: [(Format, &[u8]); 8] = [
            (Format::Text, b"1\ta\r2\tb\r"),
            (Format::Text, b"1\ta\r\n2\tb\r\n\\.\r\n"),
            (Format::Text, b"1\ta\n2\tb"),
            (Format::Text, b"1\ta\n2\tb\\.\nrubbish"),
            (Format::Csv, b"1,a\r2,b\r\\.\r"),
            (Format::Csv, b"1,a\r\n2,\"b\"\r\n"),
            (Format::Csv, b"1,a\n2,b\n\\.\n3"),
            (Format::Csv, b"1,a\n2,b"),
        ];
        for (format, data) in good {
            for piece in 1..=data.len() {
                assert_eq!(decode(Options::of(format), data, piece).expect("good data"), two(), "{data:?} by {piece}");
            }
        }
        let bad: [(Format, &[u8], &str); 11] = [
            (Format::Text, b"1\tas\\.d\n", "end-of-copy marker corrupt"),
            (Format::Text, b"1\ta\n\\.", "end-of-copy marker corrupt"),
            (Format::Text, b"1\ta\n2\tb\r\n", "literal carriage return found in data"),
            (Format::Text, b"1\ta\r\n2\tb\n", "literal newline found in data"),
            (Format::Text, b"1\ta\r\n2\tb\r", "literal carriage return found in data"),
            (Format::Text, b"1\ta\r2\tb\n", "literal newline found in data"),
            (Format::Text, b"1\ta\n\\.\r\n", "end-of-copy marker does not match previous newline style"),
            (Format::Text, b"1\ta\r\n\\.\n", "end-of-copy marker does not match previous newline style"),
            (Format::Csv, b"1,a\n2,b\r\n", "unquoted carriage return found in data"),
            (Format::Csv, b"1,a\r\n2,b\n", "unquoted newline found in data"),
            (Format::Csv, b"1,a\n\\.\r\n", "end-of-copy marker does not match previous newline style"),
        ];
        for (format, data, message) in bad {
            for piece in 1..=data.len() {
                let error = decode(Options::of(format), data, piece).expect_err("bad data");
                assert_eq!((&*error.sqlstate, error.message.as_str()), ("22P04", message), "{data:?} by {piece}");
            }
        }
        let mut trailed = Vec::new();
        write_header(&Options::of(Format::Binary), &columns(), &mut trailed);
        write_row(&Options::of(Format::Binary), &row(1, "a"), &columns(), &Zone::UTC, &mut trailed);
        write_trailer(&Options::of(Format::Binary), &mut trailed);
        assert_eq!(decode(Options::of(Format::Binary), &trailed, 5).expect("good data"), [row(1, "a")]);
        trailed.push(0);
        for piece in 1..=trailed.len() {
            let error = decode(Options::of(Format::Binary), &trailed, piece).expect_err("bad data");
            assert_eq!(error.message, "received copy data after EOF marker");
        }
    }

    proptest! {
        /// What COPY TO writes, COPY FROM must read back, in every format.
        #[test]
        fn rows_come_back(
            rows in prop::collection::vec((any::<i32>(), prop::option::of("[a-c\\\\\"',\n\r\t.N]{0,6}")), 0..6),
            piece in 1usize..40,
        ) {
            let rows: Vec<Vec<Value>> = rows
                .into_iter()
                .map(|(number, text)| vec![Value::Integer(number), text.map_or(Value::Null, Value::text)])
                .collect();
            for format in [Format::Text, Format::Csv, Format::Binary] {
                for header in [false, true] {
                    let mut options = Options::of(format);
                    options.header = header && format != Format::Binary;
                    let mut data = Vec::new();
                    write_header(&options, &columns(), &mut data);
                    for row in &rows {
                        write_row(&options, row, &columns(), &Zone::UTC, &mut data);
                    }
                    write_trailer(&options, &mut data);
                    prop_assert_eq!(&decode(options, &data, piece).unwrap(), &rows);
                }
            }
        }

        /// A broken file must not bring the site down.
        #[test]
        fn arbitrary_bytes_do_not_panic(data: Vec<u8>, piece in 1usize..9) {
            for format in [Format::Text, Format::Csv, Format::Binary] {
                let _ = decode(Options::of(format), &data, piece);
            }
            let _ = decode(Options::of(Format::Binary), &[&SIGNATURE[..], &[0; 8], &data].concat(), piece);
        }
    }
}
