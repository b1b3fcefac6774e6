//! Where a transaction spends its time.

/// A service centre.
#[derive(Clone, Debug, PartialEq)]
pub struct Centre {
    /// What it is called.
    pub name: String,
    /// What a transaction wants of it, in microseconds, at least 0.
    pub demand_us: f64,
    /// How it serves.
    pub service: CentreService,
}

/// How a centre serves those who are there.
#[derive(Clone, Debug, PartialEq)]
pub enum CentreService {
    /// All at once: nobody waits.
    Delay,
    /// One at a time.
    Single,
    /// Up to so many at a time, which need not be whole: n of them are served min(n, servers) times as fast as one. At least 1.
    Several(f64),
}

impl Centre {
    /// A centre.
    pub fn new(name: impl Into<String>, demand_us: f64, service: CentreService) -> Centre {
        Centre { name: name.into(), demand_us, service }
    }

    /// How many times faster than one it serves n customers.
    pub fn rate(&self, customers: usize) -> f64 {
        match self.service {
            CentreService::Delay => customers as f64,
            CentreService::Single => 1.0,
            CentreService::Several(servers) => (customers as f64).min(servers.max(1.0)),
        }
    }

    /// Transactions per second that it can serve at most; `None`: any number.
    pub fn capacity(&self) -> Option<f64> {
        let servers = match self.service {
            CentreService::Delay => return None,
            CentreService::Single => 1.0,
            CentreService::Several(servers) => servers.max(1.0),
        };
        (self.demand_us > 0.0).then(|| servers * 1e6 / self.demand_us)
    }
}
