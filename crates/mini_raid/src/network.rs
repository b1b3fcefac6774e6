//! The simulated network: a link for each pair of sites and direction.
//!
//! Invariant: a message arrives after it was sent, at the site it was sent to; in order if links are streams. Everything else may happen
//! to it.

use crate::limits::MICROSECOND;
use crate::random::SeededRandom;

/// How messages travel.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// As over streams: in order, and lost only with the connection. Otherwise as datagrams.
    pub streams: bool,
    /// Shortest latency.
    pub latency: u64,
    /// Mean of what comes on top.
    pub jitter: u64,
    /// Lost, in a million.
    pub loss: u32,
    /// Delivered twice, in a million.
    pub duplicates: u32,
    /// Mean of how much later the second of two comes than it otherwise would.
    pub second_late: u64,
    /// Delayed a lot, in a million.
    pub stragglers: u32,
    /// Mean of a long delay.
    pub straggling: u64,
}

impl Weather {
    /// A quiet local network.
    pub fn calm() -> Weather {
        Weather {
            streams: true,
            latency: 100 * MICROSECOND,
            jitter: 50 * MICROSECOND,
            loss: 0,
            duplicates: 0,
            second_late: 0,
            stragglers: 0,
            straggling: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    /// Nothing arrives.
    cut: bool,
    /// When the last message of a stream arrives.
    last: u64,
    /// Added to every latency.
    slow: u64,
}

/// All links.
#[derive(Debug)]
pub struct SimulatedNetwork {
    sites: usize,
    links: Vec<Link>,
    /// Pairs that have a connection, lower site first.
    connected: Vec<bool>,
    /// Counted up whenever a connection breaks: what was on its way on it is lost.
    generations: Vec<u32>,
    /// How messages travel at present.
    pub weather: Weather,
}

impl SimulatedNetwork {
    /// Links among sites 0 (the oracle) to `sites`.
    pub fn new(sites: usize, weather: Weather) -> SimulatedNetwork {
        let count = (sites + 1) * (sites + 1);
        SimulatedNetwork {
            sites: sites + 1,
            links: vec![Link::default(); count],
            connected: vec![false; count],
            generations: vec![0; count],
            weather,
        }
    }

    fn link(&self, from: usize, to: usize) -> usize {
        from * self.sites + to
    }

    fn pair(&self, a: usize, b: usize) -> usize {
        a.min(b) * self.sites + a.max(b)
    }

    /// When a message sent now arrives: never, once, or twice.
    pub fn send(&mut self, random: &mut SeededRandom, now: u64, from: usize, to: usize) -> [Option<u64>; 2] {
        let weather = self.weather;
        let oracle = from == 0 || to == 0;
        let disconnected = weather.streams && !oracle && !self.connected[self.pair(from, to)];
        let link = self.link(from, to);
        if self.links[link].cut || disconnected || (!weather.streams && random.per_million(weather.loss)) {
            return [None, None];
        }
        let mut arrival = now + self.latency(random, link);
        if weather.streams {
            arrival = arrival.max(self.links[link].last + 1);
            self.links[link].last = arrival;
            return [Some(arrival), None];
        }
        let second = random.per_million(weather.duplicates).then(|| {
            let late = if weather.second_late > 0 { random.around(weather.second_late) } else { 0 };
            now + 4 * self.latency(random, link) + late
        });
        [Some(arrival), second]
    }

    fn latency(&self, random: &mut SeededRandom, link: usize) -> u64 {
        let Weather { latency, jitter, stragglers, straggling, .. } = self.weather;
        let late = if random.per_million(stragglers) { random.around(straggling) } else { 0 };
        latency + random.around(jitter) + late + self.links[link].slow
    }

    /// A latency between two sites, for what is not a message.
    pub fn delay(&self, random: &mut SeededRandom, from: usize, to: usize) -> u64 {
        self.latency(random, self.link(from, to))
    }

    /// What a message on its way has to carry to be delivered.
    pub fn generation(&self, from: usize, to: usize) -> u32 {
        self.generations[self.pair(from, to)]
    }

    /// Whether a message that is on its way still arrives.
    pub fn arrives(&self, from: usize, to: usize, generation: u32) -> bool {
        let cut = self.links[self.link(from, to)].cut;
        !cut && (!self.weather.streams || from == 0 || to == 0 || self.generation(from, to) == generation)
    }

    /// Cuts or mends one direction.
    pub fn cut(&mut self, from: usize, to: usize, cut: bool) {
        let link = self.link(from, to);
        self.links[link].cut = cut;
    }

    /// Slows one direction down.
    pub fn slow(&mut self, from: usize, to: usize, by: u64) {
        let link = self.link(from, to);
        self.links[link].slow = by;
    }

    /// Whether both directions are whole.
    pub fn is_whole(&self, a: usize, b: usize) -> bool {
        !self.links[self.link(a, b)].cut && !self.links[self.link(b, a)].cut
    }

    /// Mends everything.
    pub fn mend(&mut self, weather: Weather) {
        for link in &mut self.links {
            link.cut = false;
            link.slow = 0;
        }
        self.weather = weather;
    }

    /// Whether two sites have a connection.
    pub fn is_connected(&self, a: usize, b: usize) -> bool {
        self.connected[self.pair(a, b)]
    }

    /// Two sites connect.
    pub fn connect(&mut self, a: usize, b: usize) {
        let pair = self.pair(a, b);
        self.connected[pair] = true;
    }

    /// The connection of two sites breaks. Whether there was one.
    pub fn disconnect(&mut self, a: usize, b: usize) -> bool {
        let pair = self.pair(a, b);
        self.generations[pair] += 1;
        std::mem::replace(&mut self.connected[pair], false)
    }
}
