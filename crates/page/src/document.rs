//! A document: head, style, script and the landmarks that every page has.

use base64::prelude::{BASE64_STANDARD, Engine};
use maud::{DOCTYPE, Markup, html};
use selfbench_markup::{Constant, constant, finish};
use sha2::{Digest, Sha256};

/// Style of all pages: light, dark, narrow, on paper.
const STYLE: Constant = constant(include_str!("style.css"));

/// An HTML document in one file.
///
/// A content security policy allows its own style sheet and script by their hashes, and nothing else:
/// markup must have neither `style` attributes nor event handlers.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// Title of the window, and heading.
    pub title: &'a str,
    /// Stands beside the heading.
    pub badge: Option<&'a str>,
    /// Stands below the heading.
    pub intro: Markup,
    /// The content.
    pub main: Markup,
    /// Stands at the end.
    pub footer: Markup,
    /// Programs that run when the document is loaded. Everything must be readable without them.
    pub scripts: &'a [Constant],
}

impl Document<'_> {
    /// The document as text.
    pub fn render(&self) -> String {
        let script_source = match self.scripts {
            [] => "'none'".to_owned(),
            scripts => scripts
                .iter()
                .map(|script| source(*script))
                .collect::<Vec<_>>()
                .join(" "),
        };
        let policy = format!(
            "default-src 'none'; style-src {} {}; script-src {script_source}; base-uri 'none'; \
             form-action 'none'",
            source(STYLE),
            source(selfbench_chart::STYLE)
        );
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content="pg_selfbench";
                    meta name="referrer" content="no-referrer";
                    title { (self.title) }
                    style { (STYLE) }
                    style { (selfbench_chart::STYLE) }
                }
                body {
                    header {
                        h1 {
                            (self.title)
                            @if let Some(badge) = self.badge { " " span.badge { (badge) } }
                        }
                        (self.intro)
                    }
                    main { (self.main) }
                    footer { (self.footer) }
                    @for script in self.scripts { script { (script) } }
                }
            }
        };
        finish(document)
    }
}

/// A source that a content security policy allows: the text itself.
fn source(text: Constant) -> String {
    format!(
        "'sha256-{}'",
        BASE64_STANDARD.encode(Sha256::digest(text.0))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(title: &str, scripts: &[Constant]) -> String {
        Document {
            title,
            badge: None,
            intro: html! { p { "one" } },
            main: html! { p { "two" } },
            footer: html! { p { "three" } },
            scripts,
        }
        .render()
    }

    #[test]
    fn the_style_sheet_can_be_written_as_it_is() {
        assert!(!STYLE.0.contains("</"));
        assert!(!selfbench_chart::STYLE.0.contains("</"));
    }

    #[test]
    fn the_policy_allows_style_and_script_by_hash() {
        let html = document("a", &[constant("alert(1)"), constant("alert(2)")]);
        assert_eq!(html.matches("sha256-").count(), 4);
        assert!(
            html.contains(
                "script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=' 'sha256-"
            )
        );
        assert!(html.contains("<script>alert(1)</script><script>alert(2)</script>"));
        assert!(!html.contains("unsafe-inline"));
        let silent = document("a", &[]);
        assert!(silent.contains("script-src 'none'"));
        assert!(!silent.contains("<script"));
    }

    #[test]
    fn titles_are_texts() {
        let html = document("<script>alert(1)</script> \u{e9}", &[]);
        assert!(!html.contains("<script>"));
        assert!(html.contains("&#xE9;"));
        assert!(html.is_ascii());
    }
}
