//! Rows as lines of COPY's text format, which columns of any type can be read from.

use serde::Serialize;
use serde::ser::Error;
use serde_json::Serializer;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use std::io::{Result, Write};

/// Digits of `bytea`.
const HEX: &[u8; 16] = b"0123456789abcdef";

/// A row: the names of its columns, and their values.
#[derive(Debug)]
pub struct CopyLine {
    /// The names, with commas in between, in the order of the values.
    pub columns: String,
    /// The values, with tabs in between, without an end of line.
    pub values: Vec<u8>,
    ascii: bool,
}

impl CopyLine {
    /// The line of a row, whose fields are the columns. A list becomes an array, an object becomes JSON,
    /// and a number that is not finite becomes NULL. Zero characters are left out of texts, since they
    /// cannot be stored; with `ascii`, all that is not ASCII becomes a question mark.
    ///
    /// # Errors
    /// If the row cannot be written as JSON.
    pub fn of<R: Serialize>(row: &R, ascii: bool) -> serde_json::Result<CopyLine> {
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        let text = CopyText::new(&mut columns, ascii);
        row.serialize(&mut Serializer::with_formatter(&mut values, text))?;
        let columns = String::from_utf8(columns).map_err(serde_json::Error::custom)?;
        Ok(CopyLine {
            columns,
            values,
            ascii,
        })
    }

    /// Adds a column with a text.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn push_text(&mut self, name: &str, text: &str) -> serde_json::Result<()> {
        self.push_name(name);
        let mut no_columns = Vec::new();
        let format = CopyText::new(&mut no_columns, self.ascii);
        text.serialize(&mut Serializer::with_formatter(&mut self.values, format))
    }

    /// Adds a column of type `bytea`.
    pub fn push_bytes(&mut self, name: &str, bytes: Option<&[u8]>) {
        self.push_name(name);
        match bytes {
            None => self.values.extend_from_slice(b"\\N"),
            Some(bytes) => {
                self.values.extend_from_slice(b"\\\\x");
                let digits = |byte: &u8| [byte >> 4, byte & 15].map(|half| HEX[half as usize]);
                self.values.extend(bytes.iter().flat_map(digits));
            }
        }
    }

    fn push_name(&mut self, name: &str) {
        self.columns.push(',');
        self.columns.push_str(name);
        self.values.push(b'\t');
    }
}

/// A text in which a question mark stands for every character that is not ASCII.
pub fn ascii(text: &str) -> String {
    text.replace(|c: char| !c.is_ascii(), "?")
}

/// Writes JSON in the text format instead.
struct CopyText<'n> {
    columns: &'n mut Vec<u8>,
    ascii: bool,
    /// Objects begun and not ended; the first is the row.
    objects: usize,
    /// Whether a name is written.
    in_name: bool,
    /// Whether a value of the row that is a list has begun.
    in_array: bool,
}

impl<'n> CopyText<'n> {
    fn new(columns: &'n mut Vec<u8>, ascii: bool) -> Self {
        CopyText {
            columns,
            ascii,
            objects: 0,
            in_name: false,
            in_array: false,
        }
    }

    /// Whether JSON is written: the value is within one of the row.
    fn in_json(&self) -> bool {
        self.objects > 1
    }

    /// Whether the name of a column is written.
    fn in_column(&self) -> bool {
        self.in_name && !self.in_json()
    }

    fn write_quote<W: ?Sized + Write>(&self, writer: &mut W) -> Result<()> {
        match self.in_json() || self.in_array {
            true => writer.write_all(b"\""),
            false => Ok(()),
        }
    }
}

impl Formatter for CopyText<'_> {
    fn write_null<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        writer.write_all(match (self.in_json(), self.in_array) {
            (true, _) => b"null",
            (false, true) => b"NULL",
            (false, false) => b"\\N",
        })
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.end_string(writer)
    }

    fn end_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        match self.in_column() {
            true => Ok(()),
            false => self.write_quote(writer),
        }
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> Result<()> {
        if self.in_column() {
            self.columns.extend_from_slice(fragment.as_bytes());
            Ok(())
        } else if self.ascii && !fragment.is_ascii() {
            writer.write_all(ascii(fragment).as_bytes())
        } else {
            writer.write_all(fragment.as_bytes())
        }
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> Result<()> {
        // A backslash of JSON or of an array escapes the next character; COPY doubles it.
        let quoted = self.in_json() || self.in_array;
        match escape {
            CharEscape::AsciiControl(0) => Ok(()),
            CharEscape::Quote if quoted => writer.write_all(b"\\\\\""),
            CharEscape::Quote => writer.write_all(b"\""),
            CharEscape::ReverseSolidus if quoted => writer.write_all(b"\\\\\\\\"),
            CharEscape::ReverseSolidus => writer.write_all(b"\\\\"),
            CharEscape::AsciiControl(byte) if !self.in_json() => writer.write_all(&[byte]),
            escape => {
                // COPY reads \n and the like as JSON does.
                if self.in_json() {
                    writer.write_all(b"\\")?;
                }
                CompactFormatter.write_char_escape(writer, escape)
            }
        }
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.in_json() {
            return writer.write_all(b"[");
        }
        self.in_array = true;
        writer.write_all(b"{")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.in_json() {
            return writer.write_all(b"]");
        }
        self.in_array = false;
        writer.write_all(b"}")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.objects += 1;
        match self.in_json() {
            true => writer.write_all(b"{"),
            false => Ok(()),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        let in_json = self.in_json();
        self.objects -= 1;
        match in_json {
            true => writer.write_all(b"}"),
            false => Ok(()),
        }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.in_name = true;
        match (first, self.in_json()) {
            (true, _) => Ok(()),
            (false, true) => writer.write_all(b","),
            (false, false) => {
                self.columns.push(b',');
                writer.write_all(b"\t")
            }
        }
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> Result<()> {
        self.in_name = false;
        Ok(())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        match self.in_json() {
            true => writer.write_all(b":"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Row {
        number: i64,
        ratio: f64,
        is: bool,
        unknown: Option<i32>,
        #[serde(flatten)]
        more: BTreeMap<&'static str, serde_json::Value>,
    }

    fn line(name: &'static str, value: serde_json::Value) -> CopyLine {
        let row = Row {
            number: -7,
            ratio: 0.25,
            is: true,
            unknown: None,
            more: BTreeMap::from([(name, value)]),
        };
        CopyLine::of(&row, false).unwrap()
    }

    fn value(value: serde_json::Value) -> String {
        let line = String::from_utf8(line("more", value).values).unwrap();
        let value = line.strip_prefix("-7\t0.25\ttrue\t\\N\t");
        value.expect(&line).to_owned()
    }

    #[test]
    fn columns_are_in_the_order_of_their_values() {
        assert_eq!(
            line("more", json!(1)).columns,
            "number,ratio,is,unknown,more"
        );
        assert_eq!(value(json!(1)), "1");
    }

    #[test]
    fn texts_are_escaped_for_copy() {
        assert_eq!(value(json!("")), "");
        assert_eq!(value(json!("\\N")), r"\\N");
        assert_eq!(value(json!("\\.")), r"\\.");
        assert_eq!(value(json!("a\tb\nc\rd\u{8}\u{c}")), r"a\tb\nc\rd\b\f");
        assert_eq!(value(json!("\"'\\ \u{1}\u{7f} é")), "\"'\\\\ \u{1}\u{7f} é");
        assert_eq!(value(json!("\0a\0")), "a");
    }

    #[test]
    fn lists_are_arrays() {
        assert_eq!(value(json!([])), "{}");
        assert_eq!(
            value(json!(["a", null, "NULL", ""])),
            r#"{"a",NULL,"NULL",""}"#
        );
        // Read by COPY as {"\"\\<line feed>,{}"}, which is the array of "\ and so on.
        assert_eq!(value(json!(["\"\\\n,{}"])), r#"{"\\"\\\\\n,{}"}"#);
    }

    #[test]
    fn objects_are_json() {
        let object = json!({"a": ["\"", "\\", "\n", null], "b\t": {"c": "\u{1}"}});
        assert_eq!(
            value(object),
            r#"{"a":["\\"","\\\\","\\n",null],"b\\t":{"c":"\\u0001"}}"#
        );
    }

    #[test]
    fn a_number_that_is_not_finite_is_null() {
        assert_eq!(value(json!(1e300)), "1e+300");
        let line = CopyLine::of(&BTreeMap::from([("a", f64::NAN), ("b", 1.5)]), false).unwrap();
        assert_eq!(line.values, br"\N	1.5");
    }

    #[test]
    fn what_is_not_ascii_is_replaced_if_it_cannot_be_stored() {
        let row = BTreeMap::from([("a", "für"), ("b", "e")]);
        let mut line = CopyLine::of(&row, true).unwrap();
        line.push_text("c", "\u{201c}\n").unwrap();
        assert_eq!(line.values, b"f?r\te\t?\\n");
        assert_eq!(line.columns, "a,b,c");
    }

    #[test]
    fn large_columns_follow() {
        let mut line = CopyLine::of(&BTreeMap::from([("a", 1)]), false).unwrap();
        line.push_text("b", "x\\y").unwrap();
        line.push_bytes("c", Some(&[0, 0x1f, 0xff]));
        line.push_bytes("d", None);
        assert_eq!(line.columns, "a,b,c,d");
        assert_eq!(line.values, br"1	x\\y	\\x001fff	\N");
    }

    #[test]
    fn only_rows_have_columns() {
        assert!(CopyLine::of(&BTreeMap::from([(vec![1], 1)]), false).is_err());
    }
}
