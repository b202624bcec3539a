//! The wording of errors in JSON documents.

/// Text of a parser's error in a document: without its position, which is one in a text that the
/// user has never seen, and without names of types that are not SQL's.
pub fn problem(error: &serde_json::Error) -> String {
    reworded(&error.to_string())
}

/// The wording of such a text.
pub fn reworded(text: &str) -> String {
    let text = match text.rfind(" at line ") {
        Some(end) => &text[..end],
        None => text,
    };
    let text = text.replace('`', "\"");
    let (what, of) = text.split_once(": ").unwrap_or((&text, ""));
    let value = of.split(", expected ").next().unwrap_or_default();
    match what {
        "recursion limit exceeded" => "it is nested too deeply".into(),
        "number out of range" => "a number in it is out of range".into(),
        "invalid type" | "invalid value" => format!("{} is not valid", as_json(value)),
        _ => match text.strip_prefix("unknown variant ") {
            Some(rest) => {
                let (value, valid) = rest.split_once(", expected ").unwrap_or((rest, ""));
                let valid = valid.trim_start_matches("one of ");
                format!("{value} is not valid (valid: {valid})")
            }
            None => text,
        },
    }
}

/// A value without the parser's name of its type.
fn as_json(value: &str) -> &str {
    let types = ["integer ", "floating point ", "string ", "boolean "];
    let value = types
        .iter()
        .find_map(|kind| value.strip_prefix(kind))
        .unwrap_or(value);
    match value {
        "sequence" => "an array",
        "map" => "an object",
        value => value,
    }
}
