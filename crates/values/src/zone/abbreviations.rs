//! What abbreviations of time zones mean in input and beside AT TIME ZONE: PostgreSQL's default set (`timezone_abbreviations`).
//!
//! Invariant: names are in capitals and ascend.

use super::{LocalOffset, UNIVERSAL, Zone, unix_seconds};

/// What an abbreviation means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abbreviation {
    /// The same at all times.
    Fixed {
        /// Seconds east of Greenwich.
        seconds: i32,
        /// Whether it names a daylight saving time.
        is_daylight: bool,
    },
    /// What a zone means, or has meant, by it.
    InZone {
        /// In capitals.
        name: &'static str,
        /// The zone.
        zone: Zone,
    },
}

/// A row of the table.
#[derive(Clone, Copy)]
enum AbbreviationMeaning {
    /// Seconds east of Greenwich.
    Standard(i32),
    Daylight(i32),
    Of(&'static str),
}

use AbbreviationMeaning::{Daylight, Of, Standard};

impl Abbreviation {
    /// The meaning of an abbreviation in any case.
    pub fn of(name: &str) -> Option<Abbreviation> {
        // No longer one is in the table.
        if name.len() > 6 {
            return None;
        }
        let name = name.to_ascii_uppercase();
        let place = TABLE.binary_search_by(|(known, _)| (*known).cmp(&name)).ok()?;
        let (name, meaning) = TABLE[place];
        Some(match meaning {
            Standard(seconds) => Abbreviation::Fixed { seconds, is_daylight: false },
            Daylight(seconds) => Abbreviation::Fixed { seconds, is_daylight: true },
            Of(zone) => Abbreviation::InZone { name, zone: Zone::of_name(zone)? },
        })
    }

    /// Offset in seconds east of Greenwich, and whether it is daylight saving time, at an instant (`DetermineTimeZoneAbbrevOffsetTS`).
    pub fn at(&self, instant: i64) -> (i32, bool) {
        match self {
            Abbreviation::Fixed { seconds, is_daylight } => (*seconds, *is_daylight),
            Abbreviation::InZone { name, zone } => {
                let LocalOffset { seconds, is_daylight, .. } = zone.meaning(name, instant);
                (seconds, is_daylight)
            }
        }
    }

    /// The offset at a local time (`DetermineTimeZoneAbbrevOffset`).
    pub fn offset_of_local(&self, local: i64) -> i32 {
        match self {
            Abbreviation::Fixed { seconds, .. } => *seconds,
            Abbreviation::InZone { zone, .. } => {
                let instant = zone.instant(local).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
                self.at(instant as i64).0
            }
        }
    }
}

impl Zone {
    /// What it means by an abbreviation at an instant; where it has none of that name, what holds then.
    fn meaning(&self, abbreviation: &str, instant: i64) -> LocalOffset<'_> {
        let Some(rules) = &self.0 else { return UNIVERSAL };
        rules.meaning(abbreviation, unix_seconds(instant)).map_or_else(|| self.at(instant), |kind| kind.shown())
    }
}

/// All of them by their names.
pub fn all() -> impl Iterator<Item = (&'static str, Abbreviation)> {
    TABLE.iter().filter_map(|(name, _)| Some((*name, Abbreviation::of(name)?)))
}

/// From `timezonesets/Default`.
const TABLE: &[(&str, AbbreviationMeaning)] = &[
    ("ACDT", Daylight(37_800)),
    ("ACSST", Daylight(37_800)),
    ("ACST", Standard(34_200)),
    ("ACT", Standard(-18_000)),
    ("ACWST", Standard(31_500)),
    ("ADT", Daylight(-10_800)),
    ("AEDT", Daylight(39_600)),
    ("AESST", Daylight(39_600)),
    ("AEST", Standard(36_000)),
    ("AFT", Standard(16_200)),
    ("AKDT", Daylight(-28_800)),
    ("AKST", Standard(-32_400)),
    ("ALMST", Daylight(25_200)),
    ("ALMT", Standard(21_600)),
    ("AMST", Of("Asia/Yerevan")),
    ("AMT", Standard(-14_400)),
    ("ANAST", Of("Asia/Anadyr")),
    ("ANAT", Of("Asia/Anadyr")),
    ("ARST", Of("America/Argentina/Buenos_Aires")),
    ("ART", Of("America/Argentina/Buenos_Aires")),
    ("AST", Standard(-14_400)),
    ("AWSST", Daylight(32_400)),
    ("AWST", Standard(28_800)),
    ("AZOST", Daylight(0)),
    ("AZOT", Standard(-3_600)),
    ("AZST", Of("Asia/Baku")),
    ("AZT", Of("Asia/Baku")),
    ("BDST", Daylight(7_200)),
    ("BDT", Standard(21_600)),
    ("BNT", Standard(28_800)),
    ("BORT", Standard(28_800)),
    ("BOT", Standard(-14_400)),
    ("BRA", Standard(-10_800)),
    ("BRST", Daylight(-7_200)),
    ("BRT", Standard(-10_800)),
    ("BST", Daylight(3_600)),
    ("BTT", Standard(21_600)),
    ("CADT", Daylight(37_800)),
    ("CAST", Standard(34_200)),
    ("CCT", Standard(28_800)),
    ("CDT", Daylight(-18_000)),
    ("CEST", Daylight(7_200)),
    ("CET", Standard(3_600)),
    ("CETDST", Daylight(7_200)),
    ("CHADT", Daylight(49_500)),
    ("CHAST", Standard(45_900)),
    ("CHUT", Standard(36_000)),
    ("CKT", Of("Pacific/Rarotonga")),
    ("CLST", Daylight(-10_800)),
    ("CLT", Of("America/Santiago")),
    ("COT", Standard(-18_000)),
    ("CST", Standard(-21_600)),
    ("CXT", Standard(25_200)),
    ("DAVT", Of("Antarctica/Davis")),
    ("DDUT", Standard(36_000)),
    ("EASST", Of("Pacific/Easter")),
    ("EAST", Of("Pacific/Easter")),
    ("EAT", Standard(10_800)),
    ("EDT", Daylight(-14_400)),
    ("EEST", Daylight(10_800)),
    ("EET", Standard(7_200)),
    ("EETDST", Daylight(10_800)),
    ("EGST", Daylight(0)),
    ("EGT", Standard(-3_600)),
    ("EST", Standard(-18_000)),
    ("FET", Standard(10_800)),
    ("FJST", Daylight(46_800)),
    ("FJT", Standard(43_200)),
    ("FKST", Of("Atlantic/Stanley")),
    ("FKT", Of("Atlantic/Stanley")),
    ("FNST", Daylight(-3_600)),
    ("FNT", Standard(-7_200)),
    ("GALT", Standard(-21_600)),
    ("GAMT", Standard(-32_400)),
    ("GEST", Of("Asia/Tbilisi")),
    ("GET", Of("Asia/Tbilisi")),
    ("GFT", Standard(-10_800)),
    ("GILT", Standard(43_200)),
    ("GMT", Standard(0)),
    ("GYT", Of("America/Guyana")),
    ("HKT", Standard(28_800)),
    ("HST", Standard(-36_000)),
    ("ICT", Standard(25_200)),
    ("IDT", Daylight(10_800)),
    ("IOT", Of("Indian/Chagos")),
    ("IRKST", Of("Asia/Irkutsk")),
    ("IRKT", Of("Asia/Irkutsk")),
    ("IRT", Standard(12_600)),
    ("IST", Standard(7_200)),
    ("JAYT", Standard(32_400)),
    ("JST", Standard(32_400)),
    ("KDT", Daylight(36_000)),
    ("KGST", Daylight(21_600)),
    ("KGT", Of("Asia/Bishkek")),
    ("KOST", Of("Pacific/Kosrae")),
    ("KRAST", Of("Asia/Krasnoyarsk")),
    ("KRAT", Of("Asia/Krasnoyarsk")),
    ("KST", Standard(32_400)),
    ("LHDT", Of("Australia/Lord_Howe")),
    ("LHST", Standard(37_800)),
    ("LIGT", Standard(36_000)),
    ("LINT", Of("Pacific/Kiritimati")),
    ("LKT", Of("Asia/Colombo")),
    ("MAGST", Of("Asia/Magadan")),
    ("MAGT", Of("Asia/Magadan")),
    ("MART", Standard(-34_200)),
    ("MAWT", Of("Antarctica/Mawson")),
    ("MDT", Daylight(-21_600)),
    ("MEST", Daylight(7_200)),
    ("MESZ", Daylight(7_200)),
    ("MET", Standard(3_600)),
    ("METDST", Daylight(7_200)),
    ("MEZ", Standard(3_600)),
    ("MHT", Standard(43_200)),
    ("MMT", Standard(23_400)),
    ("MPT", Standard(36_000)),
    ("MSD", Daylight(14_400)),
    ("MSK", Of("Europe/Moscow")),
    ("MST", Standard(-25_200)),
    ("MUST", Daylight(18_000)),
    ("MUT", Standard(14_400)),
    ("MVT", Standard(18_000)),
    ("MYT", Standard(28_800)),
    ("NDT", Daylight(-9_000)),
    ("NFT", Standard(-12_600)),
    ("NOVST", Of("Asia/Novosibirsk")),
    ("NOVT", Of("Asia/Novosibirsk")),
    ("NPT", Standard(20_700)),
    ("NST", Standard(-12_600)),
    ("NUT", Of("Pacific/Niue")),
    ("NZDT", Daylight(46_800)),
    ("NZST", Standard(43_200)),
    ("NZT", Standard(43_200)),
    ("OMSST", Of("Asia/Omsk")),
    ("OMST", Of("Asia/Omsk")),
    ("PDT", Daylight(-25_200)),
    ("PET", Standard(-18_000)),
    ("PETST", Of("Asia/Kamchatka")),
    ("PETT", Of("Asia/Kamchatka")),
    ("PGT", Standard(36_000)),
    ("PHT", Standard(28_800)),
    ("PKST", Daylight(21_600)),
    ("PKT", Standard(18_000)),
    ("PMDT", Daylight(-7_200)),
    ("PMST", Standard(-10_800)),
    ("PONT", Standard(39_600)),
    ("PST", Standard(-28_800)),
    ("PWT", Standard(32_400)),
    ("PYST", Daylight(-10_800)),
    ("PYT", Of("America/Asuncion")),
    ("RET", Standard(14_400)),
    ("SADT", Daylight(37_800)),
    ("SAST", Standard(7_200)),
    ("SCT", Standard(14_400)),
    ("SGT", Of("Asia/Singapore")),
    ("TAHT", Standard(-36_000)),
    ("TFT", Standard(18_000)),
    ("TJT", Standard(18_000)),
    ("TKT", Of("Pacific/Fakaofo")),
    ("TMT", Of("Asia/Ashgabat")),
    ("TOT", Standard(46_800)),
    ("TRUT", Standard(36_000)),
    ("TVT", Standard(43_200)),
    ("UCT", Standard(0)),
    ("ULAST", Daylight(32_400)),
    ("ULAT", Of("Asia/Ulaanbaatar")),
    ("UT", Standard(0)),
    ("UTC", Standard(0)),
    ("UYST", Daylight(-7_200)),
    ("UYT", Standard(-10_800)),
    ("UZST", Daylight(21_600)),
    ("UZT", Standard(18_000)),
    ("VET", Of("America/Caracas")),
    ("VLAST", Of("Asia/Vladivostok")),
    ("VLAT", Of("Asia/Vladivostok")),
    ("VOLT", Of("Europe/Volgograd")),
    ("VUT", Standard(39_600)),
    ("WADT", Daylight(28_800)),
    ("WAKT", Standard(43_200)),
    ("WAST", Standard(25_200)),
    ("WAT", Standard(3_600)),
    ("WDT", Daylight(32_400)),
    ("WET", Standard(0)),
    ("WETDST", Daylight(3_600)),
    ("WFT", Standard(43_200)),
    ("WGST", Daylight(-7_200)),
    ("WGT", Standard(-10_800)),
    ("XJT", Standard(21_600)),
    ("YAKST", Of("Asia/Yakutsk")),
    ("YAKT", Of("Asia/Yakutsk")),
    ("YAPT", Standard(36_000)),
    ("YEKST", Daylight(21_600)),
    ("YEKT", Of("Asia/Yekaterinburg")),
    ("Z", Standard(0)),
    ("ZULU", Standard(0)),
];
