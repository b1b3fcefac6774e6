//! Settings of the whole cluster, or of one site in it: rows of the catalog, which ordinary transactions change.
//!
//! A row's name is a parameter's, as SQL has it: `raid.concurrency_method` for all sites, `raid.site_2.concurrency_method` for site 2, which goes
//! first there. Invariant: what is in force at a site follows from the rows that are installed there and from its own file, and from nothing else. So
//! a change needs no epoch and no message of its own: it is in force wherever it is installed.

use crate::database_id::DatabaseId;
use crate::item::Row;
use crate::key::Key;
use crate::method::{Method, SwitchStrategy};
use crate::schema::{Catalog, CatalogEntry};
use identifiers::SiteId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What names of parameters that sessions of databases begin with have before them, among settings. The database's number follows, but for the first one.
const OF_DATABASE: &str = "database";
/// The same of all roles' sessions.
pub const OF_EVERYBODY: &str = "everybody.";

/// What names of parameters that sessions of this database begin with have before them, among settings.
pub fn of_database(id: DatabaseId) -> String {
    match id {
        DatabaseId::FIRST => format!("{OF_DATABASE}."),
        DatabaseId(number) => format!("{OF_DATABASE}{number}."),
    }
}

/// Whether a setting of this name is one of sites.
pub fn is_of_sites(name: &str) -> bool {
    let behind =
        name.strip_prefix(OF_DATABASE).map(|rest| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    !behind.is_some_and(|rest| rest.starts_with('.')) && !name.starts_with(OF_EVERYBODY)
}

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// The method of concurrency control: see [`Method`].
    ConcurrencyMethod,
    /// How a site goes over to another one: see [`SwitchStrategy`].
    ConcurrencyWay,
}

/// All of them.
pub const PARAMETERS: [Parameter; 2] = [Parameter::ConcurrencyMethod, Parameter::ConcurrencyWay];

/// The value of [`Parameter::ConcurrencyMethod`] with which a site chooses its method by itself.
pub const AUTOMATIC: &str = "auto";

impl Parameter {
    /// Its name behind `raid.`
    fn short(self) -> &'static str {
        match self {
            Parameter::ConcurrencyMethod => "concurrency_method",
            Parameter::ConcurrencyWay => "concurrency_way",
        }
    }

    /// Its name in SQL, for all sites or for one.
    pub fn name(self, site: Option<SiteId>) -> String {
        match site {
            None => format!("raid.{}", self.short()),
            Some(site) => format!("raid.site_{}.{}", site.0, self.short()),
        }
    }

    /// The parameter of this name, and the one site that it is of.
    pub fn of_name(name: &str) -> Option<(Parameter, Option<SiteId>)> {
        let rest = name.strip_prefix("raid.")?;
        let (site, short) = match rest.strip_prefix("site_").and_then(|rest| rest.split_once('.')) {
            Some((number, short)) => (Some(SiteId(number.parse().ok().filter(|number| *number > 0)?)), short),
            None => (None, rest),
        };
        let parameter = PARAMETERS.into_iter().find(|parameter| parameter.short() == short)?;
        // One row a setting: `site_02` is no name.
        (parameter.name(site) == name).then_some((parameter, site))
    }

    /// The value that is in force at a site by this catalog; `None`: nothing is set for it.
    pub fn set_in(self, catalog: &Catalog, site: SiteId) -> Option<&str> {
        let of = |site| catalog.settings.get(&self.name(site)).map(|(value, _)| value.as_str());
        of(Some(site)).or_else(|| of(None))
    }

    /// Its values.
    pub fn values(self) -> Vec<&'static str> {
        match self {
            Parameter::ConcurrencyMethod => Method::ALL.into_iter().map(Method::name).chain([AUTOMATIC]).collect(),
            Parameter::ConcurrencyWay => SwitchStrategy::ALL.into_iter().map(SwitchStrategy::name).collect(),
        }
    }
}

/// The settings that are installed at a site, of all sites.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteSettings {
    rows: BTreeMap<String, String>,
}

impl SiteSettings {
    /// A row of the catalog is installed, or (`None`) gone. Rows that are no settings are passed over, and those that nobody here understands.
    pub fn apply(&mut self, key: &Key, row: Option<&Row>) {
        let Some(name) = CatalogEntry::setting_of(key) else { return };
        match row.map(|row| CatalogEntry::decode(row)) {
            Some(Ok(CatalogEntry::Setting(value))) => drop(self.rows.insert(name, value)),
            _ => drop(self.rows.remove(&name)),
        }
    }

    /// The value that is in force at a site; `None`: nothing is set for it.
    pub fn value(&self, parameter: Parameter, site: SiteId) -> Option<&str> {
        let of = |site| self.rows.get(&parameter.name(site)).map(String::as_str);
        of(Some(site)).or_else(|| of(None))
    }

    /// Whether a site has a value of its own.
    pub fn is_of_site(&self, parameter: Parameter, site: SiteId) -> bool {
        self.rows.contains_key(&parameter.name(Some(site)))
    }

    /// Whether a site is to choose its method by itself.
    pub fn is_automatic(&self, site: SiteId) -> bool {
        self.value(Parameter::ConcurrencyMethod, site) == Some(AUTOMATIC)
    }

    /// The method that is set for a site; `None` also if it is to choose by itself.
    pub fn method(&self, site: SiteId) -> Option<Method> {
        self.value(Parameter::ConcurrencyMethod, site).and_then(Method::of_name)
    }

    /// How a site goes over to another method.
    pub fn way(&self, site: SiteId) -> SwitchStrategy {
        self.value(Parameter::ConcurrencyWay, site).and_then(SwitchStrategy::of_name).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: Parameter = Parameter::ConcurrencyMethod;

    fn set(settings: &mut SiteSettings, name: &str, value: Option<&str>) {
        let row = value.map(|value| CatalogEntry::Setting(value.to_owned()).encode());
        settings.apply(&CatalogEntry::setting_key(name), row.as_ref());
    }

    /// If this fails, a setting is not found again by its name, or one site has two rows for the same thing.
    #[test]
    fn names_are_read_as_they_are_written() {
        for site in [None, Some(SiteId(1)), Some(SiteId(65_534))] {
            for parameter in PARAMETERS {
                assert_eq!(Parameter::of_name(&parameter.name(site)), Some((parameter, site)));
            }
        }
        for name in
            ["raid.site_02.concurrency_method", "raid.site_0.concurrency_method", "raid.other", "concurrency_way"]
        {
            assert_eq!(Parameter::of_name(name), None, "{name}");
        }
    }

    /// If this fails, a site does not run what was set for it alone, or goes on with it when that was taken back.
    #[test]
    fn what_is_set_for_one_site_goes_first_there() {
        let (mut settings, site, other) = (SiteSettings::default(), SiteId(2), SiteId(3));
        set(&mut settings, &METHOD.name(None), Some("serial"));
        set(&mut settings, &METHOD.name(Some(site)), Some("timestamp"));
        assert_eq!((settings.method(site), settings.method(other)), (Some(Method::Timestamp), Some(Method::Serial)));
        set(&mut settings, &METHOD.name(Some(site)), None);
        assert_eq!(settings.method(site), Some(Method::Serial));
        set(&mut settings, &METHOD.name(None), Some("of a later version"));
        assert_eq!((settings.method(site), settings.is_automatic(site)), (None, false));
        set(&mut settings, &METHOD.name(None), Some("auto"));
        assert_eq!((settings.method(site), settings.is_automatic(site)), (None, true));
    }
}
