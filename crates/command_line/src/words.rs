//! Words of a string, split as by a shell.

use crate::error::{Error, ErrorKind};

/// The words of a command line. Quotes, backslashes and comments work as in a shell; a backslash
/// at the end of a line continues it. Nothing is expanded. A first word `pgbench` is left out.
pub(crate) fn split(arguments: &str) -> Result<Vec<String>, Error> {
    let mut words = shell_words::split(arguments).map_err(|_| {
        Error::new(
            ErrorKind::Syntax,
            "unterminated quoted string in command line",
        )
        .hint("Close each quote.")
    })?;
    if words.first().is_some_and(|word| word == "pgbench") {
        words.remove(0);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_in_a_shell() {
        for (line, words) in [
            ("", &[][..]),
            ("  \t\n ", &[]),
            ("pgbench", &[]),
            ("pgbench pgbench", &["pgbench"]),
            ("-c 1 pgbench", &["-c", "1", "pgbench"]),
            ("'pgbench' -S", &["-S"]),
            ("/usr/bin/pgbench", &["/usr/bin/pgbench"]),
            ("-D 'a=b c' \"-D\" \"x='\"", &["-D", "a=b c", "-D", "x='"]),
            ("-D a=b\\ c", &["-D", "a=b c"]),
            ("'' \"\"", &["", ""]),
            ("a'b'\"c\"d", &["abcd"]),
            ("'\\' \"\\\"\\x\"", &["\\", "\"\\x"]),
            ("-c 1 \\\n  -j 1", &["-c", "1", "-j", "1"]),
            ("-c 1 # eight\n-j 1#1", &["-c", "1", "-j", "1#1"]),
            ("a\\\n  b \"c\\\nd\" e\\\nf", &["a", "b", "cd", "ef"]),
            ("# it's\n-S", &["-S"]),
            ("a\\", &["a\\"]),
            ("$x `y` *.sql", &["$x", "`y`", "*.sql"]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
    }

    #[test]
    fn quotes_must_be_closed() {
        for line in ["'", "-D \"a=1", "\"\\", "'a' 'b"] {
            let error = split(line).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Syntax);
            assert_eq!(error.message, "unterminated quoted string in command line");
            assert!(error.hint.is_some());
        }
    }
}
