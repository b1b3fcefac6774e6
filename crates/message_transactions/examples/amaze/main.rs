//! Amaze: players in a maze hunt each other, each in a terminal of its own, on one machine or several.
//!
//! `cargo run --release -p message_transactions --example amaze -- A` in one terminal, `-- B` in the next one; between machines with the address of this
//! machine's network interface behind the letter. Keys: w a s d or the arrows go, the space bar shoots, q ends.
//!
//! Every player keeps the whole picture. Who changes says how things stand with it, whole, in one message to the group, which nobody
//! answers: the next one makes up for one that is lost. Who has not changed says it again now and then. Whether a shot has hit is for
//! its target to say: a shot that it has not heard of has missed. `-- check` has several players play by themselves, with a fifth of all
//! arriving packets lost, until they see the same picture. After "Amaze" in the thesis.

mod check;
mod lossy;
mod world;

use lossy::Lossy;
use message_transactions::host::transport::PacketTransport;
use message_transactions::host::udp::{UdpDomain, UdpTransport};
use message_transactions::host::{BlockedRequest, Host, HostError, HostProcess};
use message_transactions::{ProcessGroupId, ProcessId};
use std::error::Error;
use std::io::{IsTerminal, Read, Write};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use world::{Player, World};

const PLAYERS: ProcessGroupId = ProcessGroupId::well_known(3);
const NETWORK: Ipv4Addr = Ipv4Addr::new(239, 192, 0, 0);
const PORT: u16 = 7_185;
const END: &[u8] = b"end";
/// Events that wait for the player; while there are more, its listener stops listening, and updates are lost.
const EVENTS_MAX: usize = 256;
/// How fast shots fly: a cell in so much time.
const SHOT_STEP: Duration = Duration::from_millis(60);
/// After so long without a change, a player says again how things stand.
const HEARTBEAT: Duration = Duration::from_millis(250);
/// A player of whom nothing was heard for so long has left.
const GONE_AFTER: Duration = Duration::from_secs(5);
const _: () = assert!(SHOT_STEP.as_millis() < HEARTBEAT.as_millis());
const _: () = assert!(10 * HEARTBEAT.as_millis() <= GONE_AFTER.as_millis(), "losses are not taken for a farewell");

type Outcome<T> = Result<T, Box<dyn Error>>;
type Events = (SyncSender<Event>, Receiver<Event>);

/// What a player reacts to.
enum Event {
    /// A key was pressed.
    Key(u8),
    /// Another player said how things stand with it.
    Heard(ProcessId, Player),
    /// No more keys will come, but the game goes on.
    Rest,
    /// The player leaves.
    End,
}

/// What a player sees after a change.
struct Seen<'a> {
    world: &'a World,
    /// It presses no key any more.
    rests: bool,
}

/// Tells the player what others say, until it is told to end.
fn listen<T: PacketTransport>(listener: &mut HostProcess<T>, events: &SyncSender<Event>) -> Result<(), HostError> {
    loop {
        let call = listener.receive()?;
        if call.group() != Some(PLAYERS) {
            return listener.reply(call, b"");
        }
        // Nobody waits for a reply. What is not understood is not from a player of this version; who has ended takes no news.
        if let Ok(player) = postcard::from_bytes(call.message()) {
            let _ = events.send(Event::Heard(call.sender(), player));
        }
    }
}

/// One player at its host: how many updates it has sent.
fn play<T: PacketTransport>(
    host: &Host<T>,
    world: impl FnOnce(ProcessId) -> World,
    (to_player, events): Events,
    see: impl FnMut(&Seen<'_>) -> Outcome<()>,
) -> Outcome<u64> {
    let (mut player, mut listener) = (host.process()?, host.process()?);
    let ears = listener.id();
    listener.join_group(PLAYERS, ears)?;
    let listening = std::thread::spawn(move || listen(&mut listener, &to_player).map_err(|error| error.to_string()));
    let world = world(player.id());
    let played = turns(&mut player, world, &events, see);
    // A listener that waits for room goes on.
    drop(events);
    player.send(ears, BlockedRequest::exactly_once(END))?;
    listening.join().map_err(|_| "the listener panicked")??;
    played
}

/// Plays until the end.
fn turns<T: PacketTransport>(
    player: &mut HostProcess<T>,
    mut world: World,
    events: &Receiver<Event>,
    mut see: impl FnMut(&Seen<'_>) -> Outcome<()>,
) -> Outcome<u64> {
    let (mut updates, mut rests, mut ends) = (0, false, false);
    let (mut update_due, mut shot_due) = (Instant::now(), Instant::now());
    while !ends {
        let due = if world.shoots() { shot_due.min(update_due) } else { update_due };
        let (mut changed, mut news) = (false, false);
        match events.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(Event::Key(b'q' | 3)) | Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => ends = true,
            Ok(Event::Key(key)) => {
                let flew = world.shoots();
                changed = world.press(key);
                if world.shoots() && !flew {
                    shot_due = Instant::now() + SHOT_STEP;
                }
            }
            Ok(Event::Heard(from, other)) => news = world.hear(from, other, Instant::now()),
            Ok(Event::Rest) => (rests, news) = (true, true),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = Instant::now();
        if world.shoots() && now >= shot_due {
            world.fly();
            (changed, shot_due) = (true, now + SHOT_STEP);
        }
        news |= world.forget_silent(now, GONE_AFTER);
        changed |= world.suffer();
        if ends {
            world.leave();
        }
        if changed || ends || now >= update_due {
            player.notify(PLAYERS, &world.update())?;
            updates += 1;
            update_due = now + HEARTBEAT;
        }
        if changed || news || updates == 1 {
            see(&Seen { world: &world, rests })?;
        }
    }
    Ok(updates)
}

/// The keyboard, one key at a time if the terminal lets itself be told so, otherwise by lines.
struct Keyboard {
    settings: Option<String>,
}

fn terminal_settings(arguments: &[&str]) -> Option<String> {
    let output = Command::new("stty").args(arguments).stdin(Stdio::inherit()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl Keyboard {
    fn take() -> Keyboard {
        let settings = std::io::stdin().is_terminal().then(|| terminal_settings(&["-g"])).flatten();
        if settings.is_some() {
            terminal_settings(&["-icanon", "-echo", "-isig", "min", "1"]);
        }
        Keyboard { settings }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let Some(settings) = &self.settings {
            terminal_settings(&[settings]);
        }
        println!("\x1b[?25h");
    }
}

/// Every byte is a key; the end of the input is the end of the game.
fn read_keys(events: &SyncSender<Event>) {
    for key in std::io::stdin().lock().bytes() {
        let Ok(key) = key else { break };
        if events.send(Event::Key(key)).is_err() {
            return;
        }
    }
    let _ = events.send(Event::End);
}

fn start(port: u16, interface: Ipv4Addr, loss_percent: u64) -> Outcome<Host<Lossy>> {
    let domain = UdpDomain::Multicast { network: NETWORK, port, interface };
    Ok(Host::start(Lossy::new(UdpTransport::bind((interface, 0).into(), domain)?, loss_percent))?)
}

/// A person plays.
fn play_here(letter: &str, interface: Ipv4Addr) -> Outcome<()> {
    let &[letter @ b'A'..=b'Z'] = letter.as_bytes() else {
        return Err("say which letter you are, A to Z: amaze A [ADDRESS OF THE INTERFACE], or: amaze check".into());
    };
    let host = start(PORT, interface, 0)?;
    let _keyboard = Keyboard::take();
    let events = sync_channel(EVENTS_MAX);
    let keys = events.0.clone();
    std::thread::spawn(move || read_keys(&keys));
    let seed = u64::from(std::process::id());
    let mut screen = std::io::stdout();
    write!(screen, "\x1b[2J\x1b[?25l")?;
    play(
        &host,
        |id| World::new(id, letter, seed),
        events,
        |seen| {
            write!(screen, "\x1b[H")?;
            for line in seen.world.picture() {
                writeln!(screen, "{line}\x1b[K")?;
            }
            writeln!(screen, "you are {}; w a s d go, space shoots, q ends\x1b[K\x1b[J", char::from(letter))?;
            Ok(screen.flush()?)
        },
    )?;
    Ok(())
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["check"] => check::check(),
        ["by-itself", letter, port] => check::play_by_itself(letter.as_bytes(), port.parse()?),
        [letter] => play_here(letter, Ipv4Addr::LOCALHOST),
        [letter, interface] => play_here(letter, interface.parse()?),
        _ => play_here("", Ipv4Addr::LOCALHOST),
    }
}
