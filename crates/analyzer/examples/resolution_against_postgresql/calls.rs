//! Calls of every function: with the types that it takes, with some of them unknown, with others drawn by chance, with fewer and more, by name, and with VARIADIC.

use std::collections::BTreeMap;

use analyzer::coercion::explicit_cast;
use analyzer::facts::{CastContext, Facts, Function, FunctionKind};
use analyzer::functions::{Argument, Call, CallSurroundings, Meaning, resolve};
use analyzer::types::*;
use analyzer::{BuiltIns, Catalog};

use crate::tree::{argument, converted};
use crate::{Answer, Case, answer, null, sample};

/// Numbers that look drawn by chance and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// One call that is tried.
struct Trial {
    types: Vec<TypeId>,
    names: Vec<Option<String>>,
    variadic: bool,
}

impl Trial {
    fn plain(types: Vec<TypeId>) -> Trial {
        let names = types.iter().map(|_| None).collect();
        Trial { types, names, variadic: false }
    }
}

/// All calls that are tried.
pub fn calls() -> Vec<Case> {
    let mut by_name: BTreeMap<&str, Vec<&Function>> = BTreeMap::new();
    for row in &Facts::postgresql15().functions {
        by_name.entry(&row.name).or_default().push(row);
    }
    // A name that is a type's alone is a cast, too.
    for name in ["_int4", "json", "money", "uuid", "int4range", "no_such_function"] {
        by_name.entry(name).or_default();
    }
    let mut chance = Chance(15);
    let mut cases = Vec::new();
    for (name, rows) in by_name {
        let mut trials = vec![Trial::plain(Vec::new())];
        trials.extend(sample().into_iter().map(|id| Trial::plain(vec![id])));
        for row in &rows {
            of_function(row, &mut chance, &mut trials);
        }
        let window = rows.iter().any(|row| row.kind == FunctionKind::Window);
        cases.extend(trials.iter().map(|trial| case(name, trial, window)));
    }
    cases
}

/// What a NULL has as type where a function wants another: pseudo-types have no NULL.
fn stand_in(id: TypeId) -> TypeId {
    match id {
        ANY | ANYELEMENT | ANYNONARRAY | ANYCOMPATIBLE | ANYCOMPATIBLENONARRAY => INT4,
        ANYARRAY | ANYCOMPATIBLEARRAY => TypeId(1007),
        ANYRANGE | ANYCOMPATIBLERANGE => TypeId(3904),
        ANYMULTIRANGE | ANYCOMPATIBLEMULTIRANGE => TypeId(4451),
        id => match BuiltIns.type_row(id) {
            Some(row) if row.kind != TypeKind::Pseudo || id == RECORD => id,
            _ => UNKNOWN,
        },
    }
}

fn of_function(row: &Function, chance: &mut Chance, trials: &mut Vec<Trial>) {
    let sample = sample();
    let exact: Vec<TypeId> = row.arguments.iter().map(|id| stand_in(*id)).collect();
    trials.push(Trial::plain(exact.clone()));
    trials.push(Trial::plain(exact.iter().map(|_| UNKNOWN).collect()));
    for index in 0..exact.len() {
        let with = |id: TypeId| {
            let mut types = exact.clone();
            types[index] = id;
            Trial::plain(types)
        };
        trials.push(with(UNKNOWN));
        for _ in 0..3 {
            trials.push(with(sample[chance.below(sample.len())]));
        }
    }
    for count in [exact.len().saturating_sub(1), exact.len(), exact.len() + 1, exact.len() + 3] {
        for _ in 0..2 {
            let mut types: Vec<TypeId> = exact.iter().copied().take(count).collect();
            while types.len() < count {
                types.push(sample[chance.below(sample.len())]);
            }
            trials.push(Trial::plain(types));
        }
    }
    for _ in 0..4 {
        trials.push(Trial::plain(exact.iter().map(|_| sample[chance.below(sample.len())]).collect()));
    }
    if row.variadic != NONE || chance.below(10) == 0 {
        trials.push(Trial { variadic: !exact.is_empty(), ..Trial::plain(exact.clone()) });
        let mut more = exact.clone();
        more.push(TypeId(1007));
        trials.push(Trial { variadic: true, ..Trial::plain(more) });
    }
    named(row, &exact, chance, trials);
}

/// Calls with names: all, the last ones, some left out, one wrong.
fn named(row: &Function, exact: &[TypeId], chance: &mut Chance, trials: &mut Vec<Trial>) {
    let inputs: Vec<String> = row.parameters.iter().filter(|p| p.is_input()).map(|p| p.name.to_string()).collect();
    if inputs.len() != exact.len() || inputs.iter().any(String::is_empty) || inputs.is_empty() {
        return;
    }
    let with = |from: usize, keep: &dyn Fn(usize) -> bool| {
        let indexes: Vec<usize> = (0..exact.len()).filter(|index| *index < from || keep(*index)).collect();
        let name = |index: &usize| (*index >= from).then(|| inputs[*index].clone());
        let types = indexes.iter().map(|index| exact[*index]).collect();
        Trial { types, names: indexes.iter().map(name).collect(), variadic: false }
    };
    trials.push(with(0, &|_| true));
    trials.push(with(exact.len() / 2, &|_| true));
    let skipped = chance.below(exact.len());
    trials.push(with(0, &|index| index != skipped));
    let required = exact.len() - row.defaults;
    trials.push(with(0, &|index| index < required || index == exact.len() - 1));
    let mut reversed = with(0, &|_| true);
    reversed.types.reverse();
    reversed.names.reverse();
    trials.push(reversed);
    let mut wrong = with(0, &|_| true);
    wrong.names[0] = Some("no_such_name".to_string());
    trials.push(wrong);
}

fn case(name: &str, trial: &Trial, window: bool) -> Case {
    let last = trial.types.len().wrapping_sub(1);
    let written = trial.types.iter().zip(&trial.names).enumerate().map(|(index, (id, name))| {
        let variadic = if trial.variadic && index == last { "variadic " } else { "" };
        let name = name.as_ref().map(|name| format!("\"{name}\" => ")).unwrap_or_default();
        format!("{variadic}{name}{}", null(*id))
    });
    let arguments: Vec<String> = written.collect();
    let over = if window { " over ()" } else { "" };
    let sql = format!("select \"{name}\"({}){over}", arguments.join(", "));
    Case { sql, ours: ours(name, trial, window) }
}

fn ours(name: &str, trial: &Trial, over: bool) -> Answer {
    let arguments: Vec<Argument> = trial
        .types
        .iter()
        .zip(&trial.names)
        .map(|(id, name)| Argument { type_id: *id, name: name.as_deref() })
        .collect();
    let form = CallSurroundings { over, ..CallSurroundings::default() };
    let call = Call { schema: None, name, arguments: &arguments, variadic: trial.variadic, form };
    let found = match resolve(&BuiltIns, &call)? {
        Meaning::Cast(target) => {
            let source = trial.types[0];
            let kind = if source == UNKNOWN {
                analyzer::coercion::SourceKind::Literal
            } else {
                analyzer::coercion::SourceKind::Other
            };
            let steps = explicit_cast(&BuiltIns, source, kind, target)?;
            return Ok(answer(target, converted(&BuiltIns, &steps, vec![format!("CONST {source}")])));
        }
        Meaning::Function(found) => found,
    };
    let node = match found.kind {
        FunctionKind::Aggregate if !over => "AGGREF",
        FunctionKind::Aggregate | FunctionKind::Window => "WINDOWFUNC",
        _ => "FUNCEXPR",
    };
    let mut nodes = vec![format!("{node} {}", found.function.0)];
    let collected = found.collected.map_or(0, |(count, _)| count);
    for (index, source) in trial.types.iter().enumerate() {
        if let Some((_, array)) = found.collected
            && index == trial.types.len() - collected
        {
            nodes.push(format!("ARRAYEXPR {array}"));
        }
        nodes.extend(argument(&BuiltIns, *source, found.arguments[index], CastContext::Implicit)?);
    }
    Ok(answer(found.result, nodes))
}
