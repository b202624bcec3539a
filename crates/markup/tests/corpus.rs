//! Hostile texts: none of them changes what stands beside it.

use maud::html;
use proptest::prelude::*;
use selfbench_markup::{Constant, constant, data, finish, line, lines, markdown};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const CORPUS: [&str; 30] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</title></svg></style><img src=x onerror=alert(1)>",
    "<!-- ",
    "]]>",
    "\" onload=\"alert(1)",
    "' onload='alert(1)",
    "\"><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "&#106;avascript:alert(1)",
    "&lt;script&gt;",
    "a | b || c",
    "[click](javascript:alert(1))",
    "![x](https://example.com/x.png)",
    "<https://example.com>",
    "https://example.com and www.example.com",
    "@everyone",
    "`code` ``` ````",
    "**bold** _it_ ~~no~~ # head\n# head\n- item\n1. item\n> quote",
    "1) one",
    "---",
    "- item",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "\u{9b}31mred",
    "\u{202e}txt.exe\u{202c} \u{2066}x\u{2069} \u{200f}",
    "zero\u{200b}width\u{feff}",
    "nul\0nul",
    "back\x08space\rreturn\x7f",
    "\u{fffe}\u{ffff}\u{2028}\u{e0041}",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f600} Z\u{fc}rich",
];

/// The text of an element and the value of an attribute, as a browser reads them.
fn unescaped(escaped: &str) -> String {
    let mut text = String::new();
    let mut rest = escaped;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        let end = at + rest[at..].find(';').expect("a reference ends");
        text.push(match &rest[at + 1..end] {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            number => {
                let digits = number.strip_prefix("#x").expect("a known reference");
                let code = u32::from_str_radix(digits, 16).expect("hexadecimal digits");
                char::from_u32(code).expect("a character")
            }
        });
        rest = &rest[end + 1..];
    }
    text + rest
}

fn check_document(text: &str) {
    let document = finish(html! { text class=(text) { (text) } });
    assert!(
        document
            .bytes()
            .all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t')),
        "{document:?}"
    );
    let inner = document
        .strip_prefix("<text class=\"")
        .and_then(|inner| inner.strip_suffix("</text>"))
        .expect("the element is as it was");
    let (value, content) = inner.split_once("\">").expect("the attribute ends");
    for part in [value, content] {
        assert!(!part.contains(['<', '>', '"']), "{document}");
        assert_eq!(unescaped(part), lines(text));
    }
}

fn check_data(text: &str) {
    let value = json!({ text: [text, 1.5, null] });
    let document = finish(data("figures", &value));
    let json = document
        .strip_prefix("<script id=\"figures\" type=\"application/json\">")
        .and_then(|inner| inner.strip_suffix("</script>"))
        .expect("the element is as it was");
    assert!(!json.contains(['<', '>', '&']) && json.is_ascii(), "{json}");
    assert_eq!(serde_json::from_str::<Value>(json).expect("JSON"), value);
}

fn check_line(text: &str) {
    assert!(!line(text).contains(|c: char| c.is_control()), "{text:?}");
    let kept = lines(text);
    assert!(
        !kept.contains(|c: char| c.is_control() && c != '\n' && c != '\t'),
        "{text:?}"
    );
}

/// Characters that Markdown could act upon: a text in which characters after a backslash are
/// replaced.
fn effective(markdown: &str) -> String {
    let mut effective = String::new();
    let mut chars = markdown.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => effective.extend(chars.next().map(|_| '\u{1}')),
            c => effective.push(c),
        }
    }
    effective
}

fn check_markdown(text: &str) {
    let escaped = markdown::text(text);
    assert!(!escaped.contains('\n'));
    let left = effective(&escaped).replace("@<!-- -->", "");
    assert!(
        !left.contains(['|', '<', '[', ']', '`', '*', '#', '~', '$', '@']),
        "{text:?}: {escaped}"
    );
    let chars: Vec<char> = left.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        let next = chars.get(at + 1);
        assert!(
            *c != ':' || !next.is_some_and(|c| c.is_alphabetic() || matches!(c, '/' | '+' | '-')),
            "{text:?}: {escaped}"
        );
        let is_inside =
            at > 0 && chars[at - 1].is_alphanumeric() && next.is_some_and(|c| c.is_alphanumeric());
        assert!(*c != '_' || is_inside, "{text:?}: {escaped}");
    }
    assert!(
        !left.to_ascii_lowercase().contains("www."),
        "{text:?}: {escaped}"
    );
    let begun = effective(&markdown::paragraph(text));
    let digits = begun.trim_start_matches(|c: char| c.is_ascii_digit());
    assert!(
        !begun.starts_with(['>', ' ', '#', '*', '|', '`', '~', '_'])
            && !(digits.len() < begun.len()
                && (digits.starts_with(". ") || digits.starts_with(") ")))
            && !["- ", "+ "].iter().any(|item| begun.starts_with(item))
            && (begun.is_empty()
                || !['-', '=', '+']
                    .iter()
                    .any(|rule| begun.chars().all(|c| c == *rule))),
        "{text:?}: {begun}"
    );
    let block = markdown::block(text);
    let fence = block.lines().nth(1).expect("a fence");
    assert_eq!(
        block.lines().filter(|line| line.starts_with(fence)).count(),
        2,
        "{block}"
    );
}

#[test]
fn the_corpus_stays_text() {
    for text in CORPUS {
        check_document(text);
        check_data(text);
        check_line(text);
        check_markdown(text);
    }
}

proptest! {
    #[test]
    fn any_text_stays_text(text in "(?s)(.|[<>&\"'`|\\[\\]@\\\\\u{0}-\u{1f}\u{202e}]){0,40}") {
        check_document(&text);
        check_data(&text);
        check_line(&text);
        check_markdown(&text);
    }
}

#[test]
fn hidden_characters_read_as_their_codes() {
    assert_eq!(
        line("a\x1b[31m\u{202e}b\n"),
        "a[U+001B][31m[U+202E]b[U+000A]"
    );
    assert_eq!(lines("a\tb\nc\r"), "a\tb\nc[U+000D]");
    assert_eq!(
        line("\u{1f468}\u{200d}\u{1f469} \u{fc}"),
        "\u{1f468}\u{200d}\u{1f469} \u{fc}"
    );
    assert_eq!(finish(html! { "a\0\u{fc}" }), "a[U+0000]&#xFC;");
}

#[test]
fn markdown_reads_as_the_text() {
    assert_eq!(markdown::text("a|b <i> @me"), "a\\|b &lt;i> @<!-- -->me");
    for plain in [
        "6.002 ms (12:30:05, +5 %) = x - y",
        "latency_avg_ms => 'a.b'",
        "-5.1",
        "1.5",
        "read: 3, {x}!",
    ] {
        assert_eq!(markdown::text(plain), plain);
        assert_eq!(markdown::paragraph(plain), plain);
    }
    assert_eq!(markdown::text("_a_b_ x:y"), "\\_a_b\\_ x\\:y");
    for (text, escaped) in [
        ("1. one", "1\\. one"),
        ("2) two", "2\\) two"),
        ("- item", "\\- item"),
        ("-", "\\-"),
        ("---", "\\---"),
        ("===", "\\==="),
        ("> quote", "\\> quote"),
        ("    code", "code"),
        ("# head", "\\# head"),
    ] {
        assert_eq!(markdown::paragraph(text), escaped);
    }
    assert_eq!(markdown::block("SELECT 1;"), "\n```\nSELECT 1;\n```\n\n");
    assert_eq!(markdown::block("````\n"), "\n`````\n````\n`````\n\n");
}

#[test]
fn constants_are_markup() {
    const STYLE: Constant = constant("a > b { color: red }");
    assert_eq!(
        finish(html! { style { (STYLE) } }),
        "<style>a > b { color: red }</style>"
    );
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_this_crate_marks_text_as_markup() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    sources(&root.join("src"), &mut found);
    for entry in std::fs::read_dir(root.join("crates")).expect("the crates") {
        let path = entry.expect("a crate").path();
        if !path.ends_with("markup") {
            sources(&path.join("src"), &mut found);
        }
    }
    assert!(found.len() > 100, "the sources are elsewhere");
    for path in found {
        let text = std::fs::read_to_string(&path).expect("a source");
        assert!(!text.contains("PreEscaped"), "{}", path.display());
    }
}
