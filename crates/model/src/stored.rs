//! Values as a database can store them, and rows as lines of COPY's text format, which columns of any
//! type can be read from.

use serde_json::Value;
use std::borrow::Cow;
use std::mem::take;

/// Digits of `bytea`.
const HEX: &[u8; 16] = b"0123456789abcdef";

/// A text without zero characters: they cannot be stored, and no text of ours has a meaning with one.
/// If the encoding of the database may not have a character, or has other bytes for it, a question mark
/// takes the place of all that is not ASCII.
pub fn storable(text: &str, ascii: bool) -> Cow<'_, str> {
    if !text.contains('\0') && (!ascii || text.is_ascii()) {
        return text.into();
    }
    let replace = |c: char| if ascii && !c.is_ascii() { '?' } else { c };
    text.chars().filter(|c| *c != '\0').map(replace).collect()
}

/// Makes all texts of a value [`storable`].
pub fn make_storable(value: &mut Value, ascii: bool) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(storable) = storable(text, ascii) {
                *text = storable;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| make_storable(item, ascii)),
        Value::Object(fields) => {
            fields
                .values_mut()
                .for_each(|field| make_storable(field, ascii));
            let is_storable = |name: &String| matches!(storable(name, ascii), Cow::Borrowed(_));
            if !fields.keys().all(is_storable) {
                let renamed =
                    |(name, value): (String, Value)| (storable(&name, ascii).into(), value);
                *fields = take(fields).into_iter().map(renamed).collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Bytes as a value of a column of type `bytea`.
pub fn bytea(bytes: &[u8]) -> Value {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|half| char::from(HEX[half as usize]));
    Value::String("\\x".chars().chain(bytes.iter().flat_map(digits)).collect())
}

/// Appends the line of a row, with the end of the line. A list becomes an array, an object JSON.
pub fn push_copy_line<'v>(values: impl Iterator<Item = &'v Value>, line: &mut String) {
    for (column, value) in values.enumerate() {
        if column > 0 {
            line.push('\t');
        }
        let Some(text) = text_of(value) else {
            line.push_str("\\N");
            continue;
        };
        let mut written = 0;
        for (at, _) in text.match_indices(['\\', '\t', '\n', '\r']) {
            line.push_str(&text[written..at]);
            line.push('\\');
            written = at;
        }
        line.push_str(&text[written..]);
    }
    line.push('\n');
}

/// The text that a column reads; `None` is NULL.
fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    let element = |item| match text_of(item) {
        None => "NULL".to_owned(),
        Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    };
    Some(match value {
        Value::Null => return None,
        Value::String(text) => text.into(),
        Value::Array(items) => {
            let elements: Vec<String> = items.iter().map(element).collect();
            format!("{{{}}}", elements.join(",")).into()
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(value: Value) -> String {
        let mut line = String::new();
        push_copy_line([value].iter(), &mut line);
        line
    }

    #[test]
    fn values_are_separated() {
        let row = json!({"number": -7, "ratio": 0.25, "is": true, "text": "a", "unknown": null});
        let mut line = String::new();
        push_copy_line(row.as_object().unwrap().values(), &mut line);
        assert_eq!(line, "true\t-7\t0.25\ta\t\\N\n");
    }

    #[test]
    fn texts_are_escaped_for_copy() {
        assert_eq!(line(json!("")), "\n");
        assert_eq!(line(json!("\\N")), "\\\\N\n");
        assert_eq!(line(json!("\\.")), "\\\\.\n");
        assert_eq!(line(json!("a\tb\nc\rd")), "a\\\tb\\\nc\\\rd\n");
        assert_eq!(
            line(json!("\"' \u{1}\u{8}\u{7f} é")),
            "\"' \u{1}\u{8}\u{7f} é\n"
        );
    }

    #[test]
    fn lists_are_arrays() {
        assert_eq!(line(json!([])), "{}\n");
        assert_eq!(line(json!([1, null])), "{\"1\",NULL}\n");
        assert_eq!(
            line(json!(["a", null, "NULL", ""])),
            "{\"a\",NULL,\"NULL\",\"\"}\n"
        );
        // Read by COPY as {"\"\\<line feed>,{}"}, which is the array of "\ and so on.
        assert_eq!(line(json!(["\"\\\n,{}"])), "{\"\\\\\"\\\\\\\\\\\n,{}\"}\n");
    }

    #[test]
    fn objects_are_json() {
        let object = json!({"a": ["\"", "\\", "\n", null], "b\t": {"c": "\u{1}"}});
        assert_eq!(
            line(object),
            r#"{"a":["\\"","\\\\","\\n",null],"b\\t":{"c":"\\u0001"}}"#.to_owned() + "\n"
        );
    }

    #[test]
    fn a_number_that_is_not_finite_is_null() {
        assert_eq!(line(json!(1e300)), "1e+300\n");
        assert_eq!(line(json!(f64::NAN)), "\\N\n");
    }

    #[test]
    fn bytes_are_hexadecimal() {
        assert_eq!(line(bytea(&[0, 0x1f, 0xff])), "\\\\x001fff\n");
    }

    #[test]
    fn what_cannot_be_stored_is_left_out_or_replaced() {
        let value = json!({"ä": ["\0a\0", 1], "b": "für \u{201c}"});
        let storable = |ascii| {
            let mut value = value.clone();
            make_storable(&mut value, ascii);
            value
        };
        assert_eq!(storable(false), json!({"ä": ["a", 1], "b": "für \u{201c}"}));
        assert_eq!(storable(true), json!({"?": ["a", 1], "b": "f?r ?"}));
    }
}
