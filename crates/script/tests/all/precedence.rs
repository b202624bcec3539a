//! Precedence and associativity: an expression with only the parentheses that the rules require
//! is the same program as one with all of them.

use proptest::prelude::*;
use selfbench_script::{Expr, Symbols};

/// Operators by how tightly they bind, loosest first; the index is the level.
const BINARY: [&[&str]; 9] = [
    &["or"],
    &["and"],
    &[],
    &[],
    &["<", ">", "=", "<=", ">=", "<>", "!="],
    &["|", "#", "&", "<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
    &[],
];
const NOT: usize = 2;
const IS: usize = 3;
const COMPARISON: usize = 4;
const BITWISE: usize = 5;
const SIGN: usize = 8;
const PRIMARY: usize = 9;

#[derive(Clone, Debug)]
enum Tree {
    Leaf(&'static str),
    Prefix(&'static str, Box<Tree>),
    Postfix(Box<Tree>, &'static str),
    Binary(usize, &'static str, Box<Tree>, Box<Tree>),
}

impl Tree {
    fn level(&self) -> usize {
        match self {
            Self::Leaf(_) => PRIMARY,
            Self::Prefix("not", _) => NOT,
            Self::Prefix("~", _) => BITWISE,
            Self::Prefix(..) => SIGN,
            Self::Postfix(..) => IS,
            Self::Binary(level, ..) => *level,
        }
    }

    /// Prints an operand that needs parentheses if it binds less tightly than `level`.
    fn operand(&self, level: usize, all: bool) -> String {
        let text = self.print(all);
        if all || self.level() < level {
            format!("({text})")
        } else {
            text
        }
    }

    fn print(&self, all: bool) -> String {
        match self {
            Self::Leaf(text) => (*text).to_owned(),
            Self::Prefix(operator, operand) => {
                let level = if *operator == "~" {
                    BITWISE + 1
                } else {
                    self.level()
                };
                format!("{operator} {}", operand.operand(level, all))
            }
            Self::Postfix(operand, operator) => {
                format!("{} {operator}", operand.operand(IS, all))
            }
            Self::Binary(level, operator, left, right) => {
                let left_level = if *level == COMPARISON {
                    level + 1
                } else {
                    *level
                };
                let left = left.operand(left_level, all);
                format!("{left} {operator} {}", right.operand(level + 1, all))
            }
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop::sample::select(vec![
        "1",
        "2.5",
        "true",
        "null",
        ":v",
        "pi()",
        "abs(1 or 2)",
    ]);
    leaf.prop_map(Tree::Leaf).prop_recursive(8, 64, 2, |inner| {
        let operator = (0..BINARY.len())
            .prop_filter("levels without binary operators", |l| {
                !BINARY[*l].is_empty()
            })
            .prop_flat_map(|level| (Just(level), prop::sample::select(BINARY[level])));
        let prefix = prop::sample::select(vec!["not", "~", "-", "+"]);
        let postfix = prop::sample::select(vec!["is null", "is not true", "isnull", "notnull"]);
        prop_oneof![
            (prefix, inner.clone()).prop_map(|(op, tree)| Tree::Prefix(op, tree.into())),
            (inner.clone(), postfix).prop_map(|(tree, op)| Tree::Postfix(tree.into(), op)),
            (operator, inner.clone(), inner).prop_map(|((level, op), left, right)| {
                Tree::Binary(level, op, left.into(), right.into())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn required_parentheses_suffice(tree in tree()) {
        let parse = |text: &str| Expr::parse(text, &mut Symbols::new());
        let (few, all) = (tree.print(false), tree.print(true));
        let expected = parse(&all);
        prop_assert!(expected.is_ok(), "{}", all);
        prop_assert_eq!(parse(&few), expected, "{}", few);
    }
}
