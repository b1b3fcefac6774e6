//! Types of the user, as `pg_type`, `pg_enum`, `pg_constraint`, `pg_depend`, `information_schema` and names of types show them.

use super::definitions::{DEFINITIONS, SystemType};
use super::names::split_name;
use super::rows::{Row, row};
use super::{SystemCatalog, bare};
use messages::expression_sql::SqlStyle;
use messages::namespace;
use messages::schema::{CheckSchema, Column, CommentTarget, DomainSchema, TypeSchema};
use values::Type;

impl SystemCatalog {
    pub(super) fn user_types(&self) -> impl Iterator<Item = &TypeSchema> {
        self.show();
        self.catalog.types.values().map(|(known, _)| known.as_ref())
    }

    /// The user's type of a name in the schemas of the path, or in the one that is named.
    fn user_type(&self, schema: Option<&str>, name: &str) -> Option<&TypeSchema> {
        let find = |schema: u32| {
            let known = namespace::within(name, schema);
            self.user_types().find(|one| one.name == known)
        };
        match schema {
            None if namespace::is_marked(name) => self.user_types().find(|one| one.name == name),
            None => self.path().iter().find_map(|schema| find(*schema)),
            Some(schema) => find(self.catalog().namespace(schema)?.oid),
        }
    }

    /// Whether a name in a statement, without quotes and in lower case, may be that of a user's type.
    pub fn names_user_type(&self, name: &str) -> bool {
        let name = name.trim_end_matches("[]").rsplit('.').next().unwrap_or(name);
        self.user_types().any(|known| known.name.to_lowercase() == name || bare(&known.name).to_lowercase() == name)
    }

    /// The identifier of a user's type by name, with or without schema, or of its arrays.
    pub(super) fn user_type_oid(&self, text: &str) -> Option<u32> {
        let (text, is_array) = match text.trim().strip_suffix("[]") {
            Some(element) => (element, true),
            None => (text, false),
        };
        let parts = split_name(text).ok()?;
        let (schema, name) = match parts.as_slice() {
            [name] => (None, name.as_str()),
            [schema, name] => (Some(schema.as_str()), name.as_str()),
            _ => return None,
        };
        match self.user_type(schema, name) {
            Some(known) => Some(known.oid + u32::from(is_array)),
            None => self.user_type(schema, name.strip_prefix('_')?).map(|known| known.oid + 1),
        }
    }

    /// What `format_type` prints for a user's type, or for its arrays.
    pub(super) fn user_type_text(&self, oid: u32) -> Option<String> {
        Type::numbered(oid)?;
        let known = self.user_types().find(|known| known.oid == oid & !1)?;
        let name = bare(&known.name);
        let found = self.user_type(None, name).is_some_and(|found| found.oid == known.oid);
        let written = if found { bare_written(known) } else { self.qualified_name(&known.name) };
        Some(if oid & 1 == 0 { written } else { format!("{written}[]") })
    }

    /// The schema of a type.
    pub(super) fn schema_of_type(&self, known: Type) -> String {
        match known {
            _ if !known.has_labels() => "pg_catalog".to_owned(),
            _ => {
                let own = self.user_types().find(|one| one.oid == known.oid() & !1);
                own.map_or_else(String::new, |one| self.schema_of(&one.name))
            }
        }
    }
}

/// The name as statements write it, without the number of its schema.
fn bare_written(known: &TypeSchema) -> String {
    namespace::shown(&known.written).into_owned()
}

impl SystemCatalog {
    /// What `pg_attribute` says of a column of a user's type.
    pub(super) fn of_user_type(known: Type) -> Option<SystemType> {
        if !known.has_labels() {
            return None;
        }
        let is_array = known.element().is_some();
        Some(SystemType {
            oid: known.oid(),
            name: "",
            length: known.size(),
            by_value: !is_array,
            kind: if is_array { "b" } else { "e" },
            category: if is_array { "A" } else { "E" },
            preferred: false,
            element: if is_array { known.oid() & !1 } else { 0 },
            array: if is_array { 0 } else { known.oid() + 1 },
            collation: 0,
        })
    }

    /// The rows of `pg_type`: of each type, and of its arrays.
    pub(super) fn rows_of_user_types(&self) -> Vec<Row> {
        let of_one = |known: &TypeSchema| {
            let schema = namespace::of(&known.name);
            let own = match known.domain() {
                Some(domain) => self.domain_row(known, domain),
                None => row! {
                oid: known.oid, typname: bare(&known.name), typnamespace: schema, typowner: known.rights.owner, typlen: 4_i64,
                typbyval: true, typtype: "e", typcategory: "E", typispreferred: false, typisdefined: true, typdelim: ",",
                typrelid: 0, typsubscript: "-", typelem: 0, typarray: known.oid + 1, typinput: "enum_in", typoutput: "enum_out",
                typreceive: "enum_recv", typsend: "enum_send", typmodin: "-", typmodout: "-", typanalyze: "-", typalign: "i",
                typstorage: "p", typnotnull: false, typbasetype: 0, typtypmod: -1, typndims: 0, typcollation: 0,
                typacl: self.grant_texts(known.rights.grants.as_ref()),
                },
            };
            let arrays = row! {
                oid: known.oid + 1, typname: format!("_{}", bare(&known.name)), typnamespace: schema,
                typowner: known.rights.owner, typlen: -1_i64, typbyval: false, typtype: "b", typcategory: "A",
                typispreferred: false, typisdefined: true, typdelim: ",", typrelid: 0, typsubscript: "array_subscript_handler",
                typelem: known.oid, typarray: 0, typinput: "array_in", typoutput: "array_out", typreceive: "array_recv",
                typsend: "array_send", typmodin: "-", typmodout: "-", typanalyze: "array_typanalyze", typalign: "i",
                typstorage: "x", typnotnull: false, typbasetype: 0, typtypmod: -1, typndims: 0, typcollation: 0,
            };
            [own, arrays]
        };
        self.user_types().flat_map(of_one).collect()
    }

    /// The rows of `pg_enum`.
    pub(super) fn rows_of_labels(&self) -> Vec<Row> {
        let of_one = |known: &TypeSchema| -> Vec<Row> {
            let labels = known.labels().iter();
            labels
                .map(|label| {
                    row! {
                        oid: label.oid, enumtypid: known.oid, enumsortorder: label.sort_order,
                        enumlabel: label.label.as_str(),
                    }
                })
                .collect()
        };
        self.user_types().flat_map(of_one).collect()
    }

    /// The rows of `pg_depend` of columns on their types.
    pub(super) fn dependences_on_types(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for table in self.tables() {
            for (number, column) in (1_i64..).zip(&table.columns) {
                let own = column.column_type.has_labels().then(|| column.column_type.oid());
                let of = column.domain.as_ref().map(|domain| domain.oid).or(own).filter(|_| !column.dropped);
                if let Some(of) = of {
                    rows.push(row! {
                        classid: CommentTarget::RELATIONS, objid: table.oid, objsubid: number,
                        refclassid: CommentTarget::TYPES, refobjid: of, refobjsubid: 0, deptype: "n",
                    });
                }
            }
        }
        for (known, domain) in self.domains() {
            let own = domain.base.has_labels().then(|| domain.base.oid());
            if let Some(of) = domain.over.or(own) {
                rows.push(row! {
                    classid: CommentTarget::TYPES, objid: known.oid, objsubid: 0, refclassid: CommentTarget::TYPES,
                    refobjid: of, refobjsubid: 0, deptype: "n",
                });
            }
        }
        rows
    }
}

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

    /// The rows of `pg_constraint`.
    pub(super) fn domain_constraint_rows(&self) -> impl Iterator<Item = Row> {
        self.domain_checks().map(|(known, domain, check)| row! {
            oid: check.oid, conname: check.name.as_str(), connamespace: namespace::of(&known.name), contype: "c",
            condeferrable: false, condeferred: false, convalidated: check.is_valid, conrelid: 0, contypid: known.oid,
            conindid: 0, conparentid: 0, confrelid: 0, confupdtype: " ", confdeltype: " ", confmatchtype: " ",
            conislocal: true, coninhcount: 0, connoinherit: false,
            conbin: domain.condition_sql(check, SqlStyle::Complete),
        })
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
