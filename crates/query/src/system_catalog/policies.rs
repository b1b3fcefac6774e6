//! Row-level security in `pg_catalog`.

use super::SystemCatalog;
use super::rows::{Row, row};
use datafusion::sql::sqlparser::ast::{Expr, SelectItem, SetExpr, Statement};
use messages::namespace::bare;
use messages::privilege::PUBLIC;
use messages::schema::{PolicySchema, TableSchema};

/// All policies with their tables.
fn policies(catalog: &SystemCatalog) -> impl Iterator<Item = (&TableSchema, &PolicySchema)> {
    catalog.plain_tables().flat_map(|table| table.row_security.policies.iter().map(move |policy| (table, policy)))
}

/// A condition as PostgreSQL prints it: operators stand in parentheses.
fn shown(catalog: &SystemCatalog, condition: &str) -> String {
    let text = catalog.shown(condition);
    let is_plain = sql_syntax::statement(&format!("SELECT {condition}")).is_ok_and(|tree| is_plain(&tree));
    if is_plain { text } else { format!("({text})") }
}

/// Whether what a statement selects is no operator.
fn is_plain(statement: &Statement) -> bool {
    let Statement::Query(query) = statement else { return false };
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let [SelectItem::UnnamedExpr(selected)] = select.projection.as_slice() else { return false };
    matches!(
        selected,
        Expr::Nested(_) | Expr::Value(_) | Expr::Function(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_)
    )
}

/// The rows of `pg_policy`.
pub(super) fn rows(catalog: &SystemCatalog) -> Vec<Row> {
    let of_one = |(table, policy): (&TableSchema, &PolicySchema)| {
        let condition = |text: &Option<String>| text.as_ref().map(|text| shown(catalog, text));
        let roles: Vec<i64> = policy.roles.iter().map(|role| i64::from(*role)).collect();
        row! {
            oid: policy.oid, polname: policy.name.as_str(), polrelid: table.oid, polcmd: policy.command.letter(),
            polpermissive: policy.is_permissive, polroles: roles, polqual: condition(&policy.using),
            polwithcheck: condition(&policy.check),
        }
    };
    policies(catalog).map(of_one).collect()
}

/// The rows of `pg_policies`.
pub(super) fn texts(catalog: &SystemCatalog) -> Vec<Row> {
    let of_one = |(table, policy): (&TableSchema, &PolicySchema)| {
        let condition = |text: &Option<String>| text.as_ref().map(|text| shown(catalog, text));
        let name = |role: &u32| if *role == PUBLIC { "public".to_owned() } else { catalog.grantee(*role) };
        let mut roles: Vec<String> = policy.roles.iter().map(name).collect();
        roles.sort();
        row! {
            schemaname: catalog.schema_of(&table.name), tablename: bare(&table.name), policyname: policy.name.as_str(),
            permissive: if policy.is_permissive { "PERMISSIVE" } else { "RESTRICTIVE" }, roles: roles,
            cmd: policy.command.word(), qual: condition(&policy.using), with_check: condition(&policy.check),
        }
    };
    policies(catalog).map(of_one).collect()
}

impl SystemCatalog {
    /// `row_security_active`: whether policies of a table count for the session's role. `None`: there is no such table.
    pub fn is_row_security_active(&self, oid: u32) -> Option<bool> {
        let standing = self.standing();
        let table = self.tables().find(|table| table.oid == oid);
        // Those of the system have none.
        Some(table.is_some_and(|table| standing.is_held_by_policies(table)))
    }
}
