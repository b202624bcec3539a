//! Texts of pg_stat_statements, which has put parameters in the place of constants, so that some no longer
//! parse.

use crate::tokens::{Kind, Token, tokens};

/// Comment in the place of a list's other elements.
const SQUASHED: &str = "/*, ... */";

/// Keywords that values can follow. Other words in front of a value are names of its type.
const BEFORE_VALUES: &str = " all and any array as asc asymmetric between both by case collate concurrently \
    cross cube current default desc distinct do else end escape except exists fetch filter first following for from \
    full group groups having ilike in inner intersect into is isnull join lateral leading left like limit \
    natural next not notnull nothing null nulls of offset on only operator or order outer over overlaps \
    partition placing preceding range recursive returning right rollup row rows select set sets similar some \
    symmetric then ties to trailing union unbounded update using values variadic when where window with within \
    without zone ";

/// Fields of intervals, behind a constant.
const FIELDS: &str = " year month day hour minute second to ";

/// Most tokens of a text in which expressions are looked for that an item of GROUP BY or ORDER BY repeats.
const MOST_TOKENS: usize = 10_000;

/// Keywords that end a list of GROUP BY or ORDER BY.
const AFTER_LIST: &str = " having window order limit offset fetch for union intersect except on ";

fn is_one_of(words: &str, token: &Token, sql: &str) -> bool {
    token.kind == Kind::Word
        && words.contains(&format!(" {} ", token.text(sql).to_ascii_lowercase()))
}

/// Whether a statement begins as a query or a change of rows does, not as a utility command.
pub fn is_query(sql: &str) -> bool {
    let tokens = tokens(sql.get(..1000).unwrap_or(sql));
    let first = tokens
        .iter()
        .find(|token| token.kind != Kind::Comment && !token.is_symbol(sql, "("));
    let queries = " select insert update delete merge with values table ";
    first.is_none_or(|first| is_one_of(queries, first, sql))
}

/// Whether the server has made a statement to check a foreign key. It is one of the top level if the check is
/// deferred until the commit.
pub fn is_key_check(sql: &str) -> bool {
    sql.starts_with("SELECT ")
        && sql.contains(" x WHERE ")
        && sql.contains(" OPERATOR(pg_catalog.")
        && sql.ends_with(" FOR KEY SHARE OF x")
}

/// A text that parses again, as far as that is possible, without comments.
pub fn repair(sql: &str) -> String {
    let all = tokens(sql);
    // What is written in the place of each token.
    let mut written: Vec<String> = all.iter().map(|t| t.text(sql).to_owned()).collect();
    // Positions of the tokens that are no comments.
    let code: Vec<usize> = (0..all.len())
        .filter(|i| all[*i].kind != Kind::Comment)
        .collect();
    for (at, token) in all.iter().enumerate() {
        if token.kind != Kind::Comment {
            continue;
        }
        written[at] = String::new();
        if token.text(sql) == SQUASHED {
            let before = code.partition_point(|position| *position < at);
            squashed(sql, &all, &code, before, &mut written);
        }
    }
    for here in 1..code.len() {
        if let Kind::Parameter(_) = all[code[here]].kind {
            typed(sql, &all, &code, here, &mut written);
            extracted(sql, &all, &code, here, &mut written);
        }
    }
    constants_of_groups(sql, &all, &code, &mut written);
    let mut text = String::with_capacity(sql.len());
    let mut copied = 0;
    for (token, written) in all.iter().zip(&written) {
        text.push_str(&sql[copied..token.start]);
        text.push_str(match token.kind {
            Kind::Comment => " ",
            _ => written,
        });
        copied = token.end;
    }
    text.push_str(&sql[copied..]);
    text.trim().trim_end_matches(';').to_owned()
}

/// `IN ($1 /*, ... */)`, whose parameter becomes an array: `= ANY ($1)`. `before` counts the tokens in front
/// of the comment.
fn squashed(
    sql: &str,
    all: &[Token],
    code: &[usize],
    before: usize,
    written: &mut [String],
) -> Option<()> {
    let token = |back: usize| Some(&all[*code.get(before.checked_sub(back)?)?]);
    let Kind::Parameter(_) = token(1)?.kind else {
        return None;
    };
    let (open, word) = (token(2)?, token(3)?);
    let at = |back: usize| code[before - back];
    if open.is_symbol(sql, "[") && word.is(sql, "array") {
        written[at(3)].clear();
        written[at(2)].clear();
        written[*code.get(before)?].clear();
    } else if open.is_symbol(sql, "(") && word.is(sql, "in") {
        match token(4) {
            Some(not) if not.is(sql, "not") => {
                written[at(4)] = "<>".into();
                written[at(3)] = "ALL".into();
            }
            _ => written[at(3)] = "= ANY".into(),
        }
    }
    Some(())
}

/// `interval $1`, which becomes `$1::interval`.
fn typed(sql: &str, all: &[Token], code: &[usize], here: usize, written: &mut [String]) {
    let Some(first) = type_before(sql, all, code, here) else {
        return;
    };
    let mut name: String = sql[all[code[first]].start..all[code[here - 1]].end].to_owned();
    for position in &code[first..here] {
        written[*position].clear();
    }
    if all[code[first]].is(sql, "interval") {
        let fields = code[here + 1..]
            .iter()
            .take_while(|position| is_one_of(FIELDS, &all[**position], sql));
        for position in fields {
            name.push(' ');
            name.push_str(&std::mem::take(&mut written[*position]));
        }
    }
    let parameter = &mut written[code[here]];
    *parameter = format!("({parameter}::{name})");
}

/// Position of the first token of the name of a type in front of a token.
fn type_before(sql: &str, all: &[Token], code: &[usize], here: usize) -> Option<usize> {
    let token = |at: usize| &all[code[at]];
    let mut at = here.checked_sub(1)?;
    let is_with_zone = |at: usize| {
        at >= 3
            && token(at).is(sql, "zone")
            && token(at - 1).is(sql, "time")
            && (token(at - 2).is(sql, "with") || token(at - 2).is(sql, "without"))
    };
    if is_with_zone(at) {
        at -= 3;
    }
    if token(at).is_symbol(sql, ")") {
        while !token(at).is_symbol(sql, "(") {
            at = at.checked_sub(1)?;
        }
        at = at.checked_sub(1)?;
    }
    let name = token(at);
    if !matches!(name.kind, Kind::Word | Kind::Quoted) || is_one_of(BEFORE_VALUES, name, sql) {
        return None;
    }
    let is_second = name.is(sql, "precision") || name.is(sql, "varying");
    if is_second {
        return at.checked_sub(1);
    }
    while at >= 2 && token(at - 1).is_symbol(sql, ".") {
        at -= 2;
    }
    Some(at)
}

/// `EXTRACT($1 FROM t)`, which becomes a call with two arguments.
fn extracted(sql: &str, all: &[Token], code: &[usize], here: usize, written: &mut [String]) {
    let is_extract = here >= 2
        && all[code[here - 1]].is_symbol(sql, "(")
        && all[code[here - 2]].is(sql, "extract");
    if let Some(from) = code.get(here + 1)
        && is_extract
        && all[*from].is(sql, "from")
    {
        written[code[here - 2]] = "pg_catalog.extract".into();
        written[*from] = ",".into();
    }
}

/// An item of GROUP BY or ORDER BY that repeats an expression keeps its constants, which tell what the
/// parameters of that expression were; these are written in their place.
fn constants_of_groups(sql: &str, all: &[Token], code: &[usize], written: &mut [String]) {
    if code.len() > MOST_TOKENS {
        return;
    }
    for item in items(sql, all, code) {
        let tokens = &code[item.clone()];
        if tokens.len() < 2 {
            continue;
        }
        for start in 0..code.len().saturating_sub(tokens.len() - 1) {
            let there = &code[start..start + tokens.len()];
            if start == item.start || !same(sql, all, tokens, there) {
                continue;
            }
            for (from, to) in tokens.iter().zip(there) {
                let constant = all[*from].text(sql);
                if matches!(all[*to].kind, Kind::Parameter(_)) {
                    written[*to] = match all[*from].kind {
                        // Such as in extract(year FROM t), which has become a call.
                        Kind::Word => format!("'{constant}'"),
                        _ => constant.to_owned(),
                    };
                }
            }
        }
    }
}

/// Whether tokens are the same but for constants that have become parameters.
fn same(sql: &str, all: &[Token], item: &[usize], there: &[usize]) -> bool {
    item.iter().zip(there).all(|(position, b)| {
        let (a, b) = (&all[*position], &all[*b]);
        match (a.kind, b.kind) {
            (Kind::Text | Kind::Number, Kind::Parameter(_)) => true,
            (Kind::Word, Kind::Parameter(_)) => {
                let before = |at: &usize| {
                    (*at)
                        .checked_sub(2)
                        .is_some_and(|at| all[at].is(sql, "extract"))
                };
                before(position)
            }
            (Kind::Word, Kind::Word) => a.text(sql).eq_ignore_ascii_case(b.text(sql)),
            _ => a.kind == b.kind && a.text(sql) == b.text(sql),
        }
    })
}

/// The items of the lists behind GROUP BY and ORDER BY, as ranges of `code`.
fn items(sql: &str, all: &[Token], code: &[usize]) -> Vec<std::ops::Range<usize>> {
    let token = |at: usize| &all[code[at]];
    let mut found = Vec::new();
    for by in 1..code.len() {
        let is_list = token(by).is(sql, "by")
            && (token(by - 1).is(sql, "group") || token(by - 1).is(sql, "order"));
        if !is_list {
            continue;
        }
        let (mut depth, mut start) = (0, by + 1);
        for at in by + 1..=code.len() {
            let ends = at == code.len()
                || depth == 0
                    && (token(at).is_symbol(sql, ")") || is_one_of(AFTER_LIST, token(at), sql));
            let separates = !ends && depth == 0 && token(at).is_symbol(sql, ",");
            if ends || separates {
                let is_direction =
                    |at: usize| is_one_of(" asc desc nulls first last ", token(at), sql);
                let mut end = at;
                while end > start && is_direction(end - 1) {
                    end -= 1;
                }
                found.push(start..end);
                start = at + 1;
            }
            if ends {
                break;
            }
            match token(at).text(sql) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(sql: &str) -> String {
        let text = repair(sql);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn types_in_front_of_constants() {
        assert_eq!(
            text("SELECT now() - interval $1"),
            "SELECT now() - ($1::interval)"
        );
        assert_eq!(
            text("SELECT interval $1 day to second"),
            "SELECT ($1::interval day to second)"
        );
        assert_eq!(
            text("SELECT timestamp(3) with time zone $1"),
            "SELECT ($1::timestamp(3) with time zone)"
        );
        assert_eq!(text("SELECT t AT TIME ZONE $1"), "SELECT t AT TIME ZONE $1");
        assert_eq!(
            text("SELECT double precision $1, pg_catalog.date $2"),
            "SELECT ($1::double precision), ($2::pg_catalog.date)"
        );
        assert_eq!(
            text("SELECT a FROM t WHERE a BETWEEN $1 AND $2 LIMIT $3"),
            "SELECT a FROM t WHERE a BETWEEN $1 AND $2 LIMIT $3"
        );
        assert_eq!(
            text("SELECT CASE WHEN $1 THEN $2 ELSE $3 END"),
            "SELECT CASE WHEN $1 THEN $2 ELSE $3 END"
        );
    }

    #[test]
    fn squashed_lists() {
        assert_eq!(
            text("SELECT * FROM t WHERE a IN ($1 /*, ... */)"),
            "SELECT * FROM t WHERE a = ANY ($1 )"
        );
        assert_eq!(
            text("SELECT a NOT IN ($1 /*, ... */)"),
            "SELECT a <> ALL ($1 )"
        );
        assert_eq!(
            text("SELECT a = ANY (ARRAY[$1 /*, ... */])"),
            "SELECT a = ANY ($1 )"
        );
    }

    #[test]
    fn fields_and_groups() {
        assert_eq!(
            text("SELECT EXTRACT($1 FROM a)"),
            "SELECT pg_catalog.extract($1 , a)"
        );
        assert_eq!(
            text(
                "SELECT date_trunc($1, t), count(*) FROM a GROUP BY date_trunc('day', t) ORDER BY 1"
            ),
            "SELECT date_trunc('day', t), count(*) FROM a GROUP BY date_trunc('day', t) ORDER BY 1"
        );
    }

    #[test]
    fn long_lists() {
        let list = vec!["a"; 100_000].join(", ");
        let sql = format!("SELECT a FROM t GROUP BY {list}");
        assert_eq!(repair(&sql), sql);
    }

    #[test]
    fn checks_of_foreign_keys() {
        assert!(is_key_check(
            r#"SELECT $2 FROM ONLY "a"."product" x WHERE "id" OPERATOR(pg_catalog.=) $1 FOR KEY SHARE OF x"#
        ));
        assert!(!is_key_check(
            "SELECT id FROM product x WHERE id = $1 FOR KEY SHARE OF x"
        ));
    }

    #[test]
    fn utility_commands() {
        assert!(is_query("/* x */ (SELECT 1)") && is_query("with a as (select 1) table a"));
        assert!(!is_query("BEGIN") && !is_query("VACUUM t") && !is_query("COPY t TO STDOUT"));
    }
}
