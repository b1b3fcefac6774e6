//! The method of concurrency control: a site runs the one that is installed there, and its property is true of what executes.
//!
//! No checker of transactions can find a wrong method, as every vote checks versions whatever it is.

use messages::SiteId;
use messages::concurrency::Method;
use messages::method::MethodReport;
use messages::schema::Catalog;
use messages::settings::{AUTOMATIC, Parameter};

/// Errors: the site runs another method than the catalog says that it has told of, or, without a setting, its file; or one whose property is broken,
/// though no switch is under way.
pub fn check(of_file: Method, told: &Catalog, report: &MethodReport, property_holds: bool) -> Result<(), String> {
    let SiteId(site) = report.site;
    let set = Parameter::ConcurrencyMethod.set_in(told, report.site);
    // A site that chooses by itself may run any; where nothing told it to, it has not chosen.
    let wanted = match set {
        Some(AUTOMATIC) => report.method,
        set => set.and_then(Method::of_name).unwrap_or(of_file),
    };
    if report.is_automatic != (set == Some(AUTOMATIC)) {
        return Err(format!("site {site} chooses its method, or does not, against what is set: {report:?}"));
    }
    if report.method != wanted {
        let (runs, wanted) = (report.method.name(), wanted.name());
        return Err(format!("site {site} runs the method {runs}, and should run {wanted}: {report:?}"));
    }
    if report.switching.is_none() && !property_holds {
        return Err(format!("what executes at site {site} contradicts its method {}", wanted.name()));
    }
    Ok(())
}
