//! Aggregates: what takes rows in and has a value at the end.

mod collected;
mod exact;
mod floats;
mod json;
mod ordered;
mod ranges;
mod simple;

use crate::storage::{is_row, storage, unmodified};
use analyzer::Typed;
use analyzer::facts::{Facts, FunctionKind};
use analyzer::types::{BIT, FLOAT4, FLOAT8, FunctionId, INT2, INT4, INT8, INTERVAL, MONEY, NUMERIC, TypeId};
use exact::{ExactKind, ExactNumbers};
use floats::{DoubleKind, Doubles, PairKind, Pairs};
use simple::{Fold, Folded};
use values::{Type, Value, ValueError, Zone};

/// The state of an aggregate for one group. The caller has applied FILTER, DISTINCT and ORDER BY.
pub trait Accumulator: Send {
    /// A row's arguments; none for `count(*)`. NULLs are passed: the accumulator knows which it leaves out.
    fn add(&mut self, arguments: &[Value]) -> Result<(), ValueError>;
    /// The value of the rows so far; of windows, asked for again and again.
    fn finish(&self) -> Result<Value, ValueError>;
    /// Bytes beyond the accumulator's own, for the bound on a statement's memory.
    fn size(&self) -> usize {
        0
    }
}

type BegunAggregate = Result<Box<dyn Accumulator>, ValueError>;

/// The aggregate before any row; `None` for one that is not implemented. `direct` are the values before WITHIN GROUP, `arguments` the types of what each row gives.
/// Of an ordered set, each row gives what it is sorted by. JSON shows instants in the time zone.
pub fn aggregate(
    id: FunctionId,
    direct: &[Value],
    arguments: &[Typed],
    result: Typed,
    zone: &Zone,
) -> Option<BegunAggregate> {
    let row = Facts::postgresql15().function(id).filter(|row| row.kind == FunctionKind::Aggregate)?;
    // All that is kept must have a way to be held.
    for argument in arguments.iter().filter(|_| row.name != "count") {
        let is_json = row.name.starts_with("json");
        storage(*argument).map(drop).or((is_json && is_row(argument.id)).then_some(()))?;
    }
    let of = row.arguments.first().copied().unwrap_or_default();
    let name = row.name.as_ref();
    let begun = match name {
        "percentile_cont" | "percentile_disc" | "mode" => return ordered::begin(name, direct, arguments, result),
        _ => plain(name, of, arguments, result, zone)?,
    };
    Some(Ok(begun))
}

fn plain(name: &str, of: TypeId, arguments: &[Typed], result: Typed, zone: &Zone) -> Option<Box<dyn Accumulator>> {
    let is_exact = matches!(of, INT2 | INT4 | INT8 | NUMERIC);
    let is_float = matches!(of, FLOAT4 | FLOAT8);
    let folded = |fold: Fold| -> Box<dyn Accumulator> { Box::new(Folded::new(fold)) };
    let double = |kind: DoubleKind| -> Box<dyn Accumulator> { Box::new(Doubles::new(kind)) };
    Some(match name {
        "count" => Box::new(simple::RowCount::default()),
        "min" => folded(simple::smaller),
        "max" => folded(simple::larger),
        "bool_and" | "every" => folded(simple::and),
        "bool_or" => folded(simple::or),
        "bit_and" | "bit_or" | "bit_xor" if of == BIT => folded(simple::of_bit_strings(name)),
        "bit_and" => folded(bits(of, simple::bit_and)?),
        "bit_or" => folded(bits(of, simple::bit_or)?),
        "bit_xor" => folded(bits(of, simple::bit_xor)?),
        "sum" if matches!(of, INT2 | INT4) => Box::new(simple::IntegerSum::default()),
        "sum" if is_exact => Box::new(ExactNumbers::new(ExactKind::Sum)),
        "sum" if is_float || of == INTERVAL => folded(simple::sum),
        "sum" if of == MONEY => folded(crate::functions::added),
        "avg" if is_exact => Box::new(ExactNumbers::new(ExactKind::Average)),
        "avg" if is_float => double(DoubleKind::Average),
        "avg" if of == INTERVAL => Box::new(simple::IntervalAverage::default()),
        "json_agg" | "json_object_agg" => Box::new(json::JsonTexts::new(arguments, zone)?),
        "jsonb_agg" | "jsonb_object_agg" => Box::new(json::JsonTrees::new(arguments, zone)?),
        "range_agg" => match storage(result)? {
            Type::Multirange(kind) => Box::new(ranges::JoinedRanges::new(kind)),
            _ => return None,
        },
        "range_intersect_agg" => folded(ranges::intersect),
        "string_agg" => Box::new(collected::JoinedTexts::default()),
        // Of arrays it would have one dimension more.
        "array_agg" => match storage(*arguments.first()?)? {
            Type::Array(_) => return None,
            _ => Box::new(collected::Collected::new(storage(result).or_else(|| unmodified(result.id))?.element()?)),
        },
        "variance" | "var_samp" | "var_pop" | "stddev" | "stddev_samp" | "stddev_pop" => {
            let (of_sample, root) = (!name.ends_with("_pop"), name.starts_with("stddev"));
            match is_exact {
                true => Box::new(ExactNumbers::new(ExactKind::Variance { of_sample, root })),
                false => double(DoubleKind::Variance { of_sample, root }),
            }
        }
        _ => Box::new(Pairs::new(pair(name)?)),
    })
}

/// Bits of whole numbers.
fn bits(of: TypeId, fold: Fold) -> Option<Fold> {
    matches!(of, INT2 | INT4 | INT8).then_some(fold)
}

fn pair(name: &str) -> Option<PairKind> {
    Some(match name {
        "corr" => PairKind::Correlation,
        "covar_pop" => PairKind::CovarianceOfAll,
        "covar_samp" => PairKind::CovarianceOfSample,
        "regr_avgx" => PairKind::AverageOfX,
        "regr_avgy" => PairKind::AverageOfY,
        "regr_count" => PairKind::Count,
        "regr_intercept" => PairKind::Intercept,
        "regr_r2" => PairKind::Determination,
        "regr_slope" => PairKind::Slope,
        "regr_sxx" => PairKind::SquaresOfX,
        "regr_sxy" => PairKind::Products,
        "regr_syy" => PairKind::SquaresOfY,
        _ => return None,
    })
}
