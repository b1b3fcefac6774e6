//! What one player knows: itself for certain, the others as it has last heard of them.
//!
//! Invariant: an update says all about its sender and nothing about anybody else, so that any later one replaces any earlier one.

use message_transactions::ProcessId;
use seeded_random::SplitMix64;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Players in one maze; others are not seen.
const PLAYERS_MAX: usize = 16;

const MAZE: [&[u8; 33]; 15] = [
    b"#################################",
    b"#       #           #           #",
    b"# ##### # ####### # # ##### ### #",
    b"# #     #       # #   #       # #",
    b"# # ########### # ##### ##### # #",
    b"#   #           #     #     #   #",
    b"# ### ### ##### ##### ##### ### #",
    b"#       #           #           #",
    b"# ##### ##### ##### ### # ##### #",
    b"# #         #     #     #     # #",
    b"# # ##### # ##### ####### ### # #",
    b"#   #     #     #         #   # #",
    b"# ### ######### # ##### ### ### #",
    b"#               #     #         #",
    b"#################################",
];

/// A cell of the maze: row and column.
type Cell = (u8, u8);

fn is_open((row, column): Cell) -> bool {
    MAZE.get(usize::from(row)).and_then(|row| row.get(usize::from(column))).is_some_and(|&cell| cell == b' ')
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Direction {
    Up,
    Down,
    Left,
    Right,
}

impl Direction {
    /// The next cell that way, unless a wall is there.
    fn next(self, (row, column): Cell) -> Option<Cell> {
        let next = match self {
            Direction::Up => (row.checked_sub(1)?, column),
            Direction::Down => (row.checked_add(1)?, column),
            Direction::Left => (row, column.checked_sub(1)?),
            Direction::Right => (row, column.checked_add(1)?),
        };
        is_open(next).then_some(next)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Shot {
    at: Cell,
    toward: Direction,
}

/// How things stand with a player: all of it stands in each of its updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Player {
    letter: u8,
    at: Cell,
    facing: Direction,
    shot: Option<Shot>,
    /// How many shots it has fired.
    shots: u32,
    /// By whom it was hit, and how often.
    hits: Vec<(u64, u32)>,
    left: bool,
}

impl Player {
    /// Whether it can be drawn: what another machine says is not trusted.
    fn is_sound(&self) -> bool {
        self.letter.is_ascii_uppercase()
            && is_open(self.at)
            && self.shot.is_none_or(|shot| is_open(shot.at))
            && self.hits.len() <= PLAYERS_MAX
    }
}

/// See the module's description.
pub struct World {
    id: ProcessId,
    own: Player,
    others: BTreeMap<ProcessId, (Player, Instant)>,
    /// The last shot of each player that hit this one: a shot hits once.
    felt: BTreeMap<ProcessId, u32>,
    random: SplitMix64,
}

impl World {
    /// A player alone, somewhere.
    pub fn new(id: ProcessId, letter: u8, seed: u64) -> World {
        let facing = Direction::Right;
        let own = Player { letter, at: (1, 1), facing, shot: None, shots: 0, hits: Vec::new(), left: false };
        let mut world =
            World { id, own, others: BTreeMap::new(), felt: BTreeMap::new(), random: SplitMix64::new(seed) };
        world.move_anywhere();
        world
    }

    fn move_anywhere(&mut self) {
        let cells = (0..MAZE.len()).flat_map(|row| (0..MAZE[0].len()).map(move |column| (row as u8, column as u8)));
        let open: Vec<Cell> = cells.filter(|&cell| is_open(cell)).collect();
        self.own.at = open[self.random.below(open.len() as u64) as usize];
    }

    /// What a key does; whether it did something. Arrows arrive as an escape, a bracket and one of A to D.
    pub fn press(&mut self, key: u8) -> bool {
        let direction = match key {
            b'w' | b'A' => Direction::Up,
            b's' | b'B' => Direction::Down,
            b'd' | b'C' => Direction::Right,
            b'a' | b'D' => Direction::Left,
            b' ' if self.own.shot.is_none() => {
                let Some(at) = self.own.facing.next(self.own.at) else { return false };
                self.own.shots = self.own.shots.wrapping_add(1);
                self.own.shot = Some(Shot { at, toward: self.own.facing });
                return true;
            }
            _ => return false,
        };
        let turned = self.own.facing != direction;
        self.own.facing = direction;
        let next = direction.next(self.own.at);
        self.own.at = next.unwrap_or(self.own.at);
        turned || next.is_some()
    }

    /// Whether its shot flies.
    pub fn shoots(&self) -> bool {
        self.own.shot.is_some()
    }

    /// Its shot flies on, up to a wall.
    pub fn fly(&mut self) {
        let shot = self.own.shot.and_then(|shot| shot.toward.next(shot.at).map(|at| Shot { at, ..shot }));
        self.own.shot = shot;
    }

    /// What a player said of itself; whether that is new.
    pub fn hear(&mut self, from: ProcessId, player: Player, now: Instant) -> bool {
        let known = self.others.get(&from);
        if from == self.id || !player.is_sound() || (known.is_none() && self.others.len() >= PLAYERS_MAX - 1) {
            return false;
        }
        if player.left {
            self.felt.remove(&from);
            return self.others.remove(&from).is_some();
        }
        let news = known.is_none_or(|(known, _)| *known != player);
        self.others.insert(from, (player, now));
        news
    }

    /// Forgets who was silent for so long; whether there was somebody.
    pub fn forget_silent(&mut self, now: Instant, silence: Duration) -> bool {
        let before = self.others.len();
        self.others.retain(|_, (_, heard)| now.saturating_duration_since(*heard) < silence);
        self.felt.retain(|player, _| self.others.contains_key(player));
        self.others.len() < before
    }

    /// Whether a shot has hit this player, who then begins anew elsewhere.
    pub fn suffer(&mut self) -> bool {
        let here = self.own.at;
        let hit = self.others.iter().find(|(id, (other, _))| {
            other.shot.is_some_and(|shot| shot.at == here) && self.felt.get(id) != Some(&other.shots)
        });
        let Some((&by, (other, _))) = hit else { return false };
        self.felt.insert(by, other.shots);
        match self.own.hits.iter_mut().find(|(shooter, _)| *shooter == by.to_bits()) {
            Some((_, hits)) => *hits = hits.saturating_add(1),
            None => {
                // Who hit first is forgotten when too many have.
                if self.own.hits.len() >= PLAYERS_MAX {
                    self.own.hits.remove(0);
                }
                self.own.hits.push((by.to_bits(), 1));
            }
        }
        self.move_anywhere();
        true
    }

    /// It plays no more.
    pub fn leave(&mut self) {
        self.own.left = true;
    }

    /// What it tells the others.
    pub fn update(&self) -> Vec<u8> {
        postcard::to_allocvec(&self.own).expect("a player has only what can be encoded")
    }

    /// The maze with everybody in it, and below it how often each has hit another. All who know the same draw the same.
    pub fn picture(&self) -> Vec<String> {
        let mut rows: Vec<Vec<u8>> = MAZE.iter().map(|row| row.to_vec()).collect();
        let others = self.others.iter().map(|(&id, (player, _))| (player, id));
        let mut everybody: Vec<(&Player, ProcessId)> = others.chain([(&self.own, self.id)]).collect();
        everybody.sort_by_key(|&(player, id)| (player.letter, id));
        for shot in everybody.iter().filter_map(|(player, _)| player.shot) {
            rows[usize::from(shot.at.0)][usize::from(shot.at.1)] = b'*';
        }
        for (player, _) in &everybody {
            rows[usize::from(player.at.0)][usize::from(player.at.1)] = player.letter;
        }
        let mut lines: Vec<String> = rows.iter().map(|row| String::from_utf8_lossy(row).into_owned()).collect();
        for &(player, id) in &everybody {
            let by = |(shooter, hits): &(u64, u32)| if *shooter == id.to_bits() { u64::from(*hits) } else { 0 };
            let hits: u64 = everybody.iter().flat_map(|(target, _)| target.hits.iter().map(by)).sum();
            let (row, column) = player.at;
            lines.push(format!("{} at {column},{row}, hits: {hits}", char::from(player.letter)));
        }
        lines
    }
}
