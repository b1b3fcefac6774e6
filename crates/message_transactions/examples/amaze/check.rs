//! Players that play by themselves, as processes on the loopback interface, and what must hold of them.
//!
//! A player knows itself for certain. So if all pictures are the same, each is right.

use super::world::World;
use super::{EVENTS_MAX, Event, Outcome, play, start};
use seeded_random::SplitMix64;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::time::{Duration, Instant};

const LETTERS: [&str; 4] = ["A", "B", "C", "D"];
const LOSS_PERCENT: u64 = 20;
const KEYS: usize = 200;
/// Time between two keys.
const PACE: Duration = Duration::from_millis(5);
/// A check that takes longer has failed: it takes a few seconds on a machine at rest.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a player says, with its number; nothing when it has ended.
type Said = (usize, Option<String>);

/// Waits for the word to go, presses keys, and then watches until it is told to end.
pub fn play_by_itself(letter: &[u8], port: u16) -> Outcome<()> {
    let &[letter @ b'A'..=b'Z'] = letter else { return Err("a player has one letter, A to Z".into()) };
    let host = start(port, Ipv4Addr::LOCALHOST, LOSS_PERCENT)?;
    println!("ready");
    std::io::stdin().read_line(&mut String::new())?;
    let events = sync_channel(EVENTS_MAX);
    let (keys, end) = (events.0.clone(), events.0.clone());
    std::thread::spawn(move || {
        // Also when whoever started this has died.
        let _ = std::io::stdin().read_line(&mut String::new());
        let _ = end.send(Event::End);
    });
    std::thread::spawn(move || {
        let mut random = SplitMix64::new(u64::from(letter));
        for _ in 0..KEYS {
            std::thread::sleep(PACE);
            let key = b"wwaassdd "[random.below(9) as usize];
            if keys.send(Event::Key(key)).is_err() {
                return;
            }
        }
        let _ = keys.send(Event::Rest);
    });
    let world = |id| World::new(id, letter, u64::from(letter) << 8);
    let updates = play(&host, world, events, |seen| {
        let rests = seen.rests && !seen.world.shoots();
        println!("{} {}", if rests { "rests" } else { "plays" }, seen.world.picture().join("/"));
        Ok(())
    })?;
    let counts = host.transport().counts();
    let counts = [&counts.sent, &counts.arrived, &counts.lost].map(|count| count.load(Ordering::Relaxed));
    let [sent, arrived, lost] = counts;
    println!("counts {updates} {sent} {arrived} {lost}");
    Ok(())
}

/// A player's process, which does not outlive the check.
struct Started {
    child: Child,
    orders: ChildStdin,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the players, and listens to them.
fn start_players(port: u16) -> Outcome<(Vec<Started>, Receiver<Said>)> {
    let (to_check, said) = channel();
    let mut players = Vec::new();
    for (number, letter) in LETTERS.iter().enumerate() {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["by-itself", letter, &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = child.stdin.take().ok_or("no way to order")?;
        let output = BufReader::new(child.stdout.take().ok_or("no way to hear")?);
        players.push(Started { child, orders });
        let to_check = to_check.clone();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = to_check.send((number, Some(line)));
            }
            let _ = to_check.send((number, None));
        });
    }
    Ok((players, said))
}

/// The last that each player said, as soon as it is to one's liking. A player may end once it has said what it has counted.
fn wait_for(
    last: &mut [String],
    said: &Receiver<Said>,
    until: Instant,
    liked: impl Fn(&[String]) -> bool,
) -> Outcome<()> {
    while !liked(last) {
        let Ok((number, line)) = said.recv_timeout(until.saturating_duration_since(Instant::now())) else {
            return Err(format!("after {PATIENCE:?} the players say\n{}", last.join("\n")).into());
        };
        match line {
            Some(line) => last[number] = line,
            None if last[number].starts_with("counts ") => {}
            None => return Err(format!("player {} has ended early", LETTERS[number]).into()),
        }
    }
    Ok(())
}

/// Whether all rest and see the same, with everybody in it.
fn agree(last: &[String]) -> bool {
    last[0].starts_with("rests ")
        && last.iter().all(|picture| *picture == last[0])
        && LETTERS.iter().all(|letter| last[0].contains(&format!("/{letter} at ")))
}

/// Has the players play until they see the same picture, and counts what it took.
pub fn check() -> Outcome<()> {
    // A port that nobody has, so that no other game is heard.
    let port = UdpSocket::bind("127.0.0.1:0")?.local_addr()?.port();
    let until = Instant::now() + PATIENCE;
    let (mut players, said) = start_players(port)?;
    let mut last = vec![String::new(); players.len()];
    wait_for(&mut last, &said, until, |last| last.iter().all(|line| line == "ready"))?;
    let begun = Instant::now();
    for player in &mut players {
        player.orders.write_all(b"go\n")?;
    }
    wait_for(&mut last, &said, until, agree)?;
    println!("{}", last[0].trim_start_matches("rests ").replace('/', "\n"));
    println!("{} players see this, after {:.1} s", players.len(), begun.elapsed().as_secs_f64());
    for player in &mut players {
        player.orders.write_all(b"stop\n")?;
    }
    wait_for(&mut last, &said, until, |last| last.iter().all(|line| line.starts_with("counts ")))?;
    let mut total = [0; 4];
    for line in last {
        for (total, count) in total.iter_mut().zip(line.split(' ').skip(1)) {
            *total += count.parse::<u64>()?;
        }
    }
    let [updates, sent, arrived, lost] = total;
    let n = players.len() as u64;
    assert_eq!(sent, updates, "an update is one packet");
    assert!(sent + arrived <= (n + 1) * updates, "an update is at most {} events: {total:?}", n + 1);
    assert!(lost * 100 >= arrived * LOSS_PERCENT / 2, "many packets were lost: {lost} of {arrived}");
    println!(
        "{updates} updates: {:.2} packets and {:.2} events each ({} and {} one by one), {:.0} % of the arrivals lost",
        sent as f64 / updates as f64,
        (sent + arrived) as f64 / updates as f64,
        2 * (n - 1),
        4 * (n - 1),
        100.0 * lost as f64 / arrived as f64
    );
    Ok(())
}
