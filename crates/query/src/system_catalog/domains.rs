//! Domains, as `pg_type`, `pg_constraint` and `information_schema` show them.

use super::definitions::{DEFINITIONS, SystemType};
use super::rows::{Row, row};
use super::{SystemCatalog, bare};
use messages::expression_sql::SqlStyle;
use messages::namespace;
use messages::schema::{CheckSchema, Column, DomainSchema, RowExpression, TypeSchema, domain_scope};
use values::Type;

/// What the type says that a domain is over.
fn below(base: Type) -> SystemType {
    let known = DEFINITIONS.type_of_oid(base.oid()).map(|known| SystemType { ..*known });
    let own = || SystemCatalog::of_user_type(base);
    known.or_else(own).unwrap_or(SystemType {
        oid: base.oid(),
        name: "",
        length: base.size(),
        by_value: false,
        kind: "b",
        category: "U",
        preferred: false,
        element: 0,
        array: 0,
        collation: 0,
    })
}

/// A condition of a domain as PostgreSQL prints it.
pub(super) fn condition_text(domain: &DomainSchema, check: &CheckSchema, style: SqlStyle) -> String {
    let own = RowExpression::new(check.condition.clone(), Type::Boolean);
    own.sql(&domain_scope(domain.base), style)
}

impl SystemCatalog {
    /// All domains.
    pub(super) fn domains(&self) -> impl Iterator<Item = (&TypeSchema, &DomainSchema)> {
        self.user_types().filter_map(|known| Some((known, known.domain()?)))
    }

    /// All conditions of domains.
    pub(super) fn domain_checks(&self) -> impl Iterator<Item = (&TypeSchema, &DomainSchema, &CheckSchema)> {
        self.domains().flat_map(|(known, domain)| domain.checks.iter().map(move |check| (known, domain, check)))
    }

    /// The domain that a column has.
    pub(super) fn domain_of(&self, column: &Column) -> Option<(&TypeSchema, &DomainSchema)> {
        let rules = column.domain.as_ref()?;
        self.domains().find(|(known, _)| known.oid == rules.oid)
    }

    /// What `pg_attribute` says of the type of a column that has a domain.
    pub(super) fn of_domain(column: &Column) -> Option<SystemType> {
        let rules = column.domain.as_ref()?;
        Some(SystemType { oid: rules.oid, ..below(column.column_type) })
    }

    /// The row of `pg_type`.
    pub(super) fn domain_row(&self, known: &TypeSchema, domain: &DomainSchema) -> Row {
        let base = below(domain.base);
        let modifier = if domain.over.is_some() { -1 } else { domain.base.typmod() };
        let of_base = |suffix: &str| match (domain.base, domain.base.element()) {
            (_, Some(_)) => format!("array_{suffix}"),
            (Type::Enum(_), _) => format!("enum_{suffix}"),
            _ => format!("{}{suffix}", base.name),
        };
        row! {
            oid: known.oid, typname: bare(&known.name), typnamespace: namespace::of(&known.name),
            typowner: known.rights.owner, typlen: base.length, typbyval: base.by_value, typtype: "d",
            typcategory: base.category, typispreferred: false, typisdefined: true, typdelim: ",", typrelid: 0,
            typsubscript: "-", typelem: 0, typarray: known.oid + 1, typinput: "domain_in", typoutput: of_base("out"),
            typreceive: "domain_recv", typsend: of_base("send"), typmodin: "-", typmodout: "-", typanalyze: "-",
            typalign: "i", typstorage: super::relations::storage(&base), typnotnull: domain.not_null,
            typbasetype: domain.over.unwrap_or(base.oid), typtypmod: modifier, typndims: 0,
            typcollation: base.collation, typdefault: domain.rules.default.as_deref().map(|text| self.shown(text)),
            typacl: self.grant_texts(known.rights.grants.as_ref()),
        }
    }

    /// The row of `pg_constraint`.
    pub(super) fn domain_constraint_row(known: &TypeSchema, domain: &DomainSchema, check: &CheckSchema) -> Row {
        row! {
            oid: check.oid, conname: check.name.as_str(), connamespace: namespace::of(&known.name), contype: "c",
            condeferrable: false, condeferred: false, convalidated: check.is_valid, conrelid: 0, contypid: known.oid,
            conindid: 0, conparentid: 0, confrelid: 0, confupdtype: " ", confdeltype: " ", confmatchtype: " ",
            conislocal: true, coninhcount: 0, connoinherit: false,
            conbin: condition_text(domain, check, SqlStyle::Complete),
        }
    }

    /// What a row of `information_schema` says of a domain.
    pub(super) fn domain_names(&self, known: &TypeSchema) -> Row {
        row! {
            domain_catalog: self.database(), domain_schema: self.schema_of(&known.name), domain_name: bare(&known.name),
        }
    }

    /// The row of `information_schema.domains`.
    pub(super) fn domain_information(&self, known: &TypeSchema, domain: &DomainSchema) -> Row {
        /// Of what is said of a column, what is also said of a domain.
        const SHARED: [&str; 12] = [
            "data_type",
            "character_maximum_length",
            "character_octet_length",
            "numeric_precision",
            "numeric_precision_radix",
            "numeric_scale",
            "datetime_precision",
            "udt_catalog",
            "udt_schema",
            "udt_name",
            "interval_type",
            "interval_precision",
        ];
        let column = Column::new("", domain.base, false);
        let mut shown = super::information_schema::column(self, "", 1, &column);
        shown.retain(|(name, _)| SHARED.contains(name));
        shown.extend(self.domain_names(known));
        let default = domain.rules.default.as_deref().map(|text| self.shown(text));
        shown.extend(row! { domain_default: default, dtd_identifier: "1" });
        shown
    }

    /// The row of `information_schema.domain_constraints`.
    pub(super) fn domain_constraint_information(&self, known: &TypeSchema, check: &CheckSchema) -> Row {
        let mut shown = self.domain_names(known);
        shown.extend(row! {
            constraint_catalog: self.database(), constraint_schema: self.schema_of(&known.name),
            constraint_name: check.name.as_str(), is_deferrable: "NO", initially_deferred: "NO",
        });
        shown
    }
}
