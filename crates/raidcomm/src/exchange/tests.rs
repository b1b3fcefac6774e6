//! Exchanges over a channel that misbehaves as a seed says, in virtual time.

use super::*;
use crate::address::{Address, InstanceId, ServerKind, SiteId};
use crate::limits::{MILLISECOND, RETRANSMISSIONS_MAX, RETRANSMIT_FIRST, RETRANSMIT_MAX, SECOND, SESSION_IDLE};
use crate::limits::{SESSIONS_MAX, WINDOW};
use std::collections::{BTreeMap, BTreeSet};

fn address(kind: ServerKind, number: u16) -> Address {
    Address { instance: InstanceId(1), site: SiteId(1), kind, number }
}

fn asker(number: u16) -> Address {
    address(ServerKind::ActionDriver, number)
}

fn answerer(number: u16) -> Address {
    address(ServerKind::AccessManager, number)
}

/// A small generator (splitmix64), so that a seed means the same run for ever.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// How the channel misbehaves.
#[derive(Clone, Copy, Debug)]
struct Faults {
    loss_percent: u64,
    duplicate_percent: u64,
    delay_max: u64,
    /// How long an execution takes at most.
    execution_max: u64,
}

/// What happens at a moment.
enum Happening {
    Request { to: Address, from: Address, request: Request<u64> },
    Answer { to: Address, from: Address, answer: Answer<u64> },
    Executed { at: Address, call: Call, payload: u64 },
}

/// Clients, servers and the channel between them.
struct World {
    now: u64,
    chance: Chance,
    faults: Faults,
    happenings: BTreeMap<(u64, u64), Happening>,
    scheduled: u64,
    clients: BTreeMap<Address, Client<u64>>,
    servers: BTreeMap<Address, Server<u64>>,
    next_payload: u64,
    /// Payloads by request, as asked.
    asked: BTreeMap<(Address, u64, RequestId), u64>,
    /// Payloads executed: no payload is asked twice.
    executed: BTreeSet<u64>,
    replied: BTreeSet<u64>,
    given_up: usize,
    lives: BTreeMap<Address, u64>,
}

impl World {
    fn new(seed: u64, faults: Faults) -> World {
        World {
            now: 0,
            chance: Chance(seed),
            faults,
            happenings: BTreeMap::new(),
            scheduled: 0,
            clients: (0..3).map(|number| (asker(number), Client::new(1))).collect(),
            servers: (0..2).map(|number| (answerer(number), Server::default())).collect(),
            next_payload: 0,
            asked: BTreeMap::new(),
            executed: BTreeSet::new(),
            replied: BTreeSet::new(),
            given_up: 0,
            lives: (0..3).map(|number| (asker(number), 1)).collect(),
        }
    }

    fn schedule(&mut self, delay: u64, happening: Happening) {
        self.scheduled += 1;
        self.happenings.insert((self.now + delay, self.scheduled), happening);
    }

    /// Puts a packet on the channel, never, once or twice.
    fn transmit(&mut self, mut packet: impl FnMut() -> Happening) {
        let copies = 1 + u64::from(self.chance.percent(self.faults.duplicate_percent));
        for _ in 0..copies {
            let delay = 1 + self.chance.below(self.faults.delay_max);
            if !self.chance.percent(self.faults.loss_percent) {
                self.schedule(delay, packet());
            }
        }
    }

    fn transmit_request(&mut self, from: Address, to: Address, request: &Request<u64>) {
        self.transmit(|| Happening::Request { to, from, request: request.clone() });
    }

    /// Some client asks some server, if its window lets it.
    fn ask(&mut self) {
        let from = asker(self.chance.below(3) as u16);
        let to = answerer(self.chance.below(2) as u16);
        let payload = self.next_payload;
        let client = self.clients.get_mut(&from).expect("a client");
        if let Ok((id, request)) = client.request(self.now, to, payload) {
            self.next_payload += 1;
            self.asked.insert((from, self.lives[&from], id), payload);
            self.transmit_request(from, to, &request);
        }
    }

    /// A client's process ends and starts again: it knows nothing of its requests.
    fn restart(&mut self, number: u16) {
        let life = self.lives.get_mut(&asker(number)).expect("a client");
        *life += 1;
        self.clients.insert(asker(number), Client::new(*life));
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Request { to, from, request } => {
                let server = self.servers.get_mut(&to).expect("a server");
                match server.receive(self.now, from, request) {
                    Received::Execute(call, payload) => {
                        assert!(self.executed.insert(payload), "request {payload} was executed twice");
                        let delay = 1 + self.chance.below(self.faults.execution_max);
                        self.schedule(delay, Happening::Executed { at: to, call, payload });
                    }
                    Received::Answer(answer) => self.transmit_answer(to, from, &answer),
                    Received::Ignore(Ignored::OldLife | Ignored::Finished) => {}
                    Received::Ignore(reason) => panic!("a client kept to the rules and was ignored: {reason:?}"),
                }
                assert!(self.servers[&to].remembered() <= 3 * WINDOW as usize);
            }
            Happening::Executed { at, call, payload } => {
                let server = self.servers.get_mut(&at).expect("a server");
                if let Some(answer) = server.reply(call, payload * 2) {
                    self.transmit_answer(at, call.from, &answer);
                }
            }
            Happening::Answer { to, from, answer } => {
                let client = self.clients.get_mut(&to).expect("a client");
                if let Some((id, reply)) = client.receive(self.now, from, answer) {
                    let payload = self.asked[&(to, self.lives[&to], id)];
                    assert_eq!(reply, payload * 2, "a reply to another request");
                    assert!(self.executed.contains(&payload));
                    assert!(self.replied.insert(payload), "the reply to {payload} was taken twice");
                }
            }
        }
    }

    fn transmit_answer(&mut self, from: Address, to: Address, answer: &Answer<u64>) {
        self.transmit(|| Happening::Answer { to, from, answer: answer.clone() });
    }

    /// Goes to the next moment at which something happens or a client must act. `false`: nothing is left to do.
    fn step(&mut self) -> bool {
        let happening = self.happenings.first_key_value().map(|(&(time, _), _)| time);
        let deadline = self.clients.values().filter_map(Client::next_deadline).min();
        let Some(next) = happening.into_iter().chain(deadline).min() else {
            return false;
        };
        self.now = self.now.max(next);
        while let Some(entry) = self.happenings.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let happening = entry.remove();
            self.happen(happening);
        }
        let (mut again, mut given_up) = (Vec::new(), Vec::new());
        let mut retransmissions = Vec::new();
        for (&from, client) in &mut self.clients {
            client.tick(self.now, &mut again, &mut given_up);
            retransmissions.extend(again.drain(..).map(|(to, request)| (from, to, request)));
        }
        self.given_up += given_up.len();
        for (from, to, request) in retransmissions {
            self.transmit_request(from, to, &request);
        }
        true
    }

    /// Asks some hundred times while the world goes on, and then lets everything come to its end.
    fn run(&mut self, mut disturb: impl FnMut(&mut World, usize)) {
        for round in 0..400 {
            self.ask();
            if self.chance.percent(70) {
                self.step();
            }
            disturb(self, round);
        }
        while self.step() {
            assert!(self.now < 600 * SECOND, "exchanges must come to an end");
        }
        assert_eq!(self.clients.values().map(Client::outstanding).sum::<usize>(), 0);
        assert!(self.next_payload >= 300, "the windows were nearly always open");
    }
}

const MILD: Faults =
    Faults { loss_percent: 10, duplicate_percent: 20, delay_max: 20 * MILLISECOND, execution_max: 30 * MILLISECOND };

#[test]
fn every_request_is_executed_once_and_answered_once_on_a_bad_channel() {
    for seed in 0..100 {
        let mut world = World::new(seed, MILD);
        world.run(|_, _| ());
        // One round trip in five fails; nine in a row fail less than once in a million requests.
        assert_eq!(world.given_up, 0, "seed {seed}");
        assert_eq!(world.replied.len() + world.given_up, world.next_payload as usize, "seed {seed}");
    }
}

#[test]
fn a_very_bad_channel_costs_replies_but_never_a_second_execution() {
    let faults = Faults { loss_percent: 60, duplicate_percent: 50, delay_max: 400 * MILLISECOND, ..MILD };
    let mut given_up = 0;
    for seed in 0..100 {
        let mut world = World::new(seed, faults);
        world.run(|_, _| ());
        given_up += world.given_up;
        assert_eq!(world.replied.len() + world.given_up, world.next_payload as usize, "seed {seed}");
    }
    assert!(given_up > 0, "a client that never gives up waits for ever");
}

#[test]
fn a_slow_server_is_waited_for() {
    let faults = Faults { execution_max: 60 * SECOND, ..MILD };
    for seed in 0..5 {
        let mut world = World::new(seed, faults);
        world.run(|_, _| ());
        assert_eq!(world.given_up, 0, "seed {seed}: the server showed that it lives, and was given up");
    }
}

#[test]
fn a_client_that_starts_again_is_not_taken_for_its_earlier_life() {
    for seed in 0..100 {
        let mut world = World::new(seed, MILD);
        world.run(|world, round| {
            // The last hundred rounds and more belong to the last lives.
            if round % 40 == 39 && round < 280 {
                world.restart((round / 40 % 3) as u16);
            }
        });
        // Nobody waits for replies to an earlier life; every request of the last life has its own.
        let last_life = world.asked.iter().filter(|((from, life, _), _)| world.lives[from] == *life);
        let (replied, missed): (Vec<u64>, Vec<u64>) =
            last_life.map(|(_, payload)| payload).partition(|payload| world.replied.contains(payload));
        assert!(missed.is_empty(), "seed {seed}: {missed:?} have no reply");
        assert!(replied.len() > 50, "seed {seed}: the last lives are hardly tested");
    }
}

#[test]
fn the_wait_follows_the_server_and_doubles_when_nothing_comes() {
    let to = answerer(0);
    let mut client: Client<()> = Client::new(1);
    let mut now = 0;
    for _ in 0..50 {
        let (id, request) = client.request(now, to, ()).expect("an open window");
        assert_eq!(request.finished_below, request.sequence, "nothing else is outstanding");
        now += 10 * MILLISECOND;
        let answer = Answer { life: 1, sequence: id.sequence, body: AnswerBody::Reply(()) };
        assert_eq!(client.receive(now, to, answer), Some((id, ())));
    }
    client.request(now, to, ()).expect("an open window");
    let (mut again, mut given_up) = (Vec::new(), Vec::new());
    let mut waits = Vec::new();
    while given_up.is_empty() {
        let due = client.next_deadline().expect("a request is outstanding");
        waits.push((due - now) / MILLISECOND);
        now = due;
        client.tick(now, &mut again, &mut given_up);
    }
    assert_eq!(again.len(), RETRANSMISSIONS_MAX as usize);
    assert_eq!(waits, [10, 20, 40, 80, 160, 320, 500, 500, 500], "a steady server is waited for as long as it takes");
    assert_eq!(client.next_deadline(), None);
}

#[test]
fn a_retransmitted_request_is_no_measurement() {
    let to = answerer(0);
    let mut client: Client<()> = Client::new(1);
    let (id, _) = client.request(0, to, ()).expect("an open window");
    client.tick(RETRANSMIT_FIRST, &mut Vec::new(), &mut Vec::new());
    let answer = Answer { life: 1, sequence: id.sequence, body: AnswerBody::Reply(()) };
    // It may answer the first copy, after a long time, or the second, after none.
    client.receive(RETRANSMIT_FIRST + 1, to, answer).expect("a reply");
    client.request(0, to, ()).expect("an open window");
    assert_eq!(client.next_deadline(), Some(RETRANSMIT_FIRST));
    const { assert!(RETRANSMIT_FIRST < RETRANSMIT_MAX) };
}

#[test]
fn the_window_bounds_both_sides_and_moves_with_the_oldest_request() {
    let to = answerer(0);
    let mut client: Client<()> = Client::new(1);
    let ids: Vec<RequestId> = (0..WINDOW).map(|_| client.request(0, to, ()).expect("an open window").0).collect();
    assert_eq!(client.request(0, to, ()), Err(RequestError::WindowFull));
    assert!(client.cancel(ids[1]));
    assert_eq!(client.request(0, to, ()), Err(RequestError::WindowFull), "the oldest is still outstanding");
    assert!(client.cancel(ids[0]));
    assert!(!client.cancel(ids[0]));
    let (_, request) = client.request(0, to, ()).expect("an open window");
    assert_eq!((request.sequence, request.finished_below), (WINDOW + 1, 3));
    let mut server: Server<()> = Server::default();
    for (sequence, finished_below) in [(WINDOW + 1, 1), (1, 2), (u64::MAX, 0), (0, u64::MAX)] {
        let request = Request { life: 1, sequence, finished_below, payload: () };
        assert_eq!(server.receive(0, asker(0), request), Received::Ignore(Ignored::OutsideWindow));
    }
    assert_eq!(server.remembered(), 0);
}

#[test]
fn replies_are_kept_until_the_next_request_acknowledges_them() {
    let mut server: Server<&str> = Server::default();
    let request = |sequence, finished_below| Request { life: 1, sequence, finished_below, payload: () };
    let Received::Execute(call, ()) = server.receive(0, asker(0), request(1, 1)) else { panic!("a new request") };
    let pending = Answer { life: 1, sequence: 1, body: AnswerBody::Pending };
    assert_eq!(server.receive(0, asker(0), request(1, 1)), Received::Answer(pending));
    let answer = server.reply(call, "done").expect("the client waits");
    assert_eq!(server.receive(0, asker(0), request(1, 1)), Received::Answer(answer));
    assert_eq!(server.remembered(), 1);
    assert!(matches!(server.receive(0, asker(0), request(2, 2)), Received::Execute(..)));
    assert_eq!(server.remembered(), 1, "the reply to the first is dropped");
    assert_eq!(server.receive(0, asker(0), request(1, 1)), Received::Ignore(Ignored::Finished));
}

#[test]
fn clients_are_bounded_and_silent_ones_are_forgotten() {
    let mut server: Server<()> = Server::default();
    let request = || Request { life: 1, sequence: 1, finished_below: 1, payload: () };
    let mut calls = Vec::new();
    for number in 0..SESSIONS_MAX as u16 {
        match server.receive(0, asker(number), request()) {
            Received::Execute(call, ()) => calls.push(call),
            other => panic!("{other:?}"),
        }
    }
    let newcomer = asker(SESSIONS_MAX as u16);
    assert_eq!(server.receive(SESSION_IDLE - 1, newcomer, request()), Received::Ignore(Ignored::Crowded));
    assert!(matches!(server.receive(SESSION_IDLE, newcomer, request()), Received::Execute(..)));
    // A client that repeats numbers after it was forgotten gets a new execution; the old one's reply is not its reply.
    assert!(
        matches!(server.receive(SESSION_IDLE, calls[0].from, request()), Received::Execute(call, ()) if call != calls[0])
    );
    assert_eq!(server.reply(calls[0], ()), None);
}
