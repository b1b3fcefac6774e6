//! QUEL: whatever the text, it is translated or refused, and an error's place is one of its characters, or right behind them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quel::translate::QuelColumn;
use quel::{QuelRelations, RangedRelation, Ranges};

struct Known;

impl QuelRelations for Known {
    fn columns(&self, relation: &RangedRelation) -> Option<Vec<QuelColumn>> {
        let column = |name: &str| QuelColumn { name: name.to_owned(), is_text: name == "name" };
        (relation.name == "emp").then(|| vec![column("name"), column("sal")])
    }

    fn database(&self) -> &str {
        "raid"
    }
}

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    if let Err(error) = quel::statements(&text, &Ranges::default(), &Known) {
        assert!((1..=text.chars().count() + 1).contains(&error.at), "{error:?}");
    }
});
