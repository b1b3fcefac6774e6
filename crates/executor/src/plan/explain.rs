//! A plan as text.

use super::{PlanNode, ScanNode, line};

/// An operator and, below it, those it reads from.
pub fn describe(node: &PlanNode, depth: usize, text: &mut String) {
    line(depth, &head(node), text);
    node.inputs().into_iter().for_each(|input| describe(input, depth + 1, text));
}

fn head(node: &PlanNode) -> String {
    match node {
        PlanNode::OneRow => "Result".to_string(),
        PlanNode::Values(rows) => format!("Values ({} rows)", rows.len()),
        PlanNode::Scan(scan) => scanned(scan),
        PlanNode::Filter { .. } => "Filter".to_string(),
        PlanNode::Project { expressions, .. } => format!("Project ({} columns)", expressions.len()),
        PlanNode::ProjectSet { .. } => "Project Set".to_string(),
        PlanNode::Join { kind, left_keys, by_key, .. } => {
            let how = match (by_key, left_keys.is_empty()) {
                (true, _) => "Key Lookup Join",
                (false, true) => "Nested Loop",
                (false, false) => "Hash Join",
            };
            format!("{how} ({kind:?})")
        }
        PlanNode::Lateral { kind, .. } => format!("Lateral Join ({kind:?})"),
        PlanNode::Aggregate { groups, sets, .. } => match (groups.is_empty(), sets.len()) {
            (true, _) => "Aggregate".to_string(),
            (false, 1) => "Hash Aggregate".to_string(),
            (false, sets) => format!("Hash Aggregate ({sets} grouping sets)"),
        },
        PlanNode::Window { .. } => "Window".to_string(),
        PlanNode::Sort { first, .. } => if first.is_some() { "Sort (first rows)" } else { "Sort" }.to_string(),
        PlanNode::Distinct { consecutive, .. } => if *consecutive { "Distinct On" } else { "Distinct" }.to_string(),
        PlanNode::Limit { .. } => "Limit".to_string(),
        PlanNode::SetOperation { operator, all, .. } => format!("{operator:?}{}", if *all { " All" } else { "" }),
        PlanNode::Shared { number, .. } => format!("Common Table {number}"),
        PlanNode::Keyed { keys, .. } => format!("Hashed Rows ({} keys)", keys.len()),
        PlanNode::Working { number } => format!("Working Table {number}"),
        PlanNode::Recursive { .. } => "Recursive Union".to_string(),
        PlanNode::Functions { .. } => "Function Scan".to_string(),
        PlanNode::Routine(scan) => format!("Function Scan on {}", scan.name),
        PlanNode::Called(called) => format!("Call of {}", called.name),
    }
}

fn scanned(scan: &ScanNode) -> String {
    let range = &scan.range;
    let ends = usize::from(range.lower.is_some() || range.upper.is_some());
    let way = match (range.equal.len(), ends) {
        (0, 0) => "Scan on",
        _ if scan.path == 0 => "Key Scan on",
        _ => "Index Scan on",
    };
    let path = if scan.path == 0 { String::new() } else { format!(" by index {}", scan.path) };
    let bounds = if range.equal.len() + ends == 0 {
        String::new()
    } else {
        format!(", {} columns equal{}", range.equal.len(), if ends == 1 { ", the next in a range" } else { "" })
    };
    let filter = if scan.filter.is_some() { ", filtered" } else { "" };
    format!("{way} {}{path}{bounds}{filter}", scan.name)
}
