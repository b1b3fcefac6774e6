//! Cuts between real processes in networks of their own: sites go on as one or not at all, and come back with no hand.

use crate::harness::World;
use crate::register::Register;
use local_cluster::process::ProcessName;
use local_cluster::running::is_up;
use site::status::Status;
use std::time::{Duration, Instant};

const ORACLE: ProcessName = ProcessName::Oracle;
const ONE: ProcessName = ProcessName::Site(1);
const TWO: ProcessName = ProcessName::Site(2);
const THREE: ProcessName = ProcessName::Site(3);

/// Survivors shall go on within 1 or 2 s; this much a busy machine may add.
const GAP_MAX: Duration = Duration::from_secs(15);
/// How long a cut lasts that shall change nothing: several leases.
const LONG: Duration = Duration::from_secs(3);

/// The majority goes on; whoever is cut off answers nothing from the moment at which the others may have changed something.
fn majority_goes_on_without_two(world: &mut World, register: &Register, cut_at: Instant) {
    world.wait_until_without(&[2]);
    let without_at = Instant::now();
    register.wait_for_both(world, 1, 100);
    register.wait_for_both(world, 3, 100);
    let gap = register.longest_gap(&[1, 3], cut_at);
    eprintln!("longest gap at the majority: {} ms", gap.as_millis());
    assert!(gap < GAP_MAX, "the majority stood still for {gap:?}\n{}", world.logs());
    assert_eq!(register.writes_since(2, without_at), 0, "the site that is cut off must not write");
    assert_eq!(register.reads_since(2, without_at), 0, "the site that is cut off must not answer reads");
}

/// Afterwards all are one again, with equal data, and nobody had to do anything but heal the network.
fn all_come_back(mut world: World, register: Register) {
    let healed_at = Instant::now();
    world.networks().heal();
    world.wait_until_repaired();
    for site in 1..=3 {
        register.wait_for_both(&world, site, 20);
    }
    eprintln!("all back after {} ms", healed_at.elapsed().as_millis());
    register.check(&world);
}

/// A site that is cut off from the others must serve nothing stale, take no write, and come back by itself.
#[test]
fn a_site_cut_off_from_the_others_answers_nothing() {
    let Some(mut world) = World::start_in_networks() else { return };
    let register = Register::start(&world);
    let cut_at = Instant::now();
    world.networks().cut(TWO, ONE);
    world.networks().cut(TWO, THREE);
    majority_goes_on_without_two(&mut world, &register, cut_at);
    let refusals = register.refusals();
    eprintln!("site 2 said: {:?}", refusals.get(&2));
    all_come_back(world, register);
}

/// A site whose packets do not arrive must be left out by those who miss it, though it hears them.
#[test]
fn a_site_that_is_not_heard_is_left_out() {
    let Some(mut world) = World::start_in_networks() else { return };
    let register = Register::start(&world);
    let cut_at = Instant::now();
    world.networks().cut_one_way(TWO, ONE);
    world.networks().cut_one_way(TWO, THREE);
    majority_goes_on_without_two(&mut world, &register, cut_at);
    all_come_back(world, register);
}

/// A site that is heard but hears nobody may win the race for the oracle; still, only one side may go on.
#[test]
fn a_site_that_hears_nobody_shares_service_with_nobody() {
    let Some(mut world) = World::start_in_networks() else { return };
    let register = Register::start(&world);
    let cut_at = Instant::now();
    world.networks().cut_one_way(ONE, TWO);
    world.networks().cut_one_way(THREE, TWO);
    let sides = |status: &Status| {
        let members: Vec<u16> = status.members.iter().map(|member| member.site).collect();
        is_up(status) && (members == [2] || members == [1, 3])
    };
    let statuses = world.wait("one side to go on", |statuses| statuses.values().any(sides));
    let serving: Vec<u16> = statuses.iter().filter(|(_, status)| sides(status)).map(|(site, _)| *site).collect();
    eprintln!("served by {serving:?}");
    assert!(serving == [2] || !serving.contains(&2), "both sides serve: {statuses:?}");
    let since = Instant::now();
    register.wait_for_both(&world, serving[0], 50);
    for site in (1..=3).filter(|site| serving.contains(&2) != (*site == 2)) {
        assert_eq!(register.writes_since(site, since), 0, "{site} writes beside {serving:?}");
        assert_eq!(register.reads_since(site, since), 0, "{site} reads what {serving:?} changes");
    }
    eprintln!("longest gap: {} ms", register.longest_gap(&[1, 2, 3], cut_at).as_millis());
    all_come_back(world, register);
}

/// Two sites that cannot reach each other, though both reach the third, must not both stay: what one commits the other would miss.
#[test]
fn a_broken_link_between_two_sites_costs_one_of_them_at_most() {
    let Some(mut world) = World::start_in_networks() else { return };
    let register = Register::start(&world);
    let cut_at = Instant::now();
    world.networks().cut(ONE, THREE);
    world.wait("an epoch in which no two members are cut off from each other", |statuses| {
        let whole = |status: &Status| {
            let has = |site| status.members.iter().any(|member| member.site == site);
            is_up(status) && !(has(1) && has(3))
        };
        statuses.values().filter(|status| whole(status)).count() >= 2
    });
    register.wait_for_both(&world, 2, 100);
    let gap = register.longest_gap(&[1, 2, 3], cut_at);
    eprintln!("longest gap anywhere: {} ms", gap.as_millis());
    assert!(gap < GAP_MAX, "nobody went on for {gap:?}\n{}", world.logs());
    all_come_back(world, register);
}

/// Running sites do not need the oracle: losing sight of it must disturb nobody.
#[test]
fn a_site_cut_off_from_the_oracle_goes_on() {
    let Some(mut world) = World::start_in_networks() else { return };
    let register = Register::start(&world);
    let before = world.running.statuses();
    let cut_at = Instant::now();
    world.networks().cut(TWO, ORACLE);
    while cut_at.elapsed() < LONG {
        for site in 1..=3 {
            register.wait_for_both(&world, site, 20);
        }
    }
    let after = world.running.statuses();
    for (site, status) in &after {
        assert_eq!(status.epoch, before[site].epoch, "nothing has happened that needs another epoch\n{}", world.logs());
    }
    all_come_back(world, register);
}

/// Without the oracle running sites go on, and a set that has lost a member waits: it says for what, and resumes when the oracle is back.
#[test]
fn without_the_oracle_sites_go_on_but_cannot_change_their_set() {
    let Some(mut world) = World::start_in_networks() else { return };
    let register = Register::start(&world);
    for site in [ONE, TWO, THREE] {
        world.networks().cut(site, ORACLE);
    }
    let cut_at = Instant::now();
    while cut_at.elapsed() < LONG {
        for site in 1..=3 {
            register.wait_for_both(&world, site, 20);
        }
    }
    world.kill(3);
    world.wait("both sites to say that they lack the oracle", |statuses| {
        let says = |site| statuses.get(&site).and_then(|status: &Status| status.refusal.as_ref());
        [1, 2].into_iter().all(|site| says(site).is_some_and(|reason| reason.contains("oracle")))
    });
    let refused_at = Instant::now();
    let shown = world.shown_status();
    assert!(shown.contains("serves nothing now") && shown.contains("the oracle"), "{shown}");
    let status = world.running.status(1).expect("it answers");
    assert!(status.members.iter().any(|member| member.site == 3), "nobody can change the epoch: {:?}", status.members);
    for site in 1..=2 {
        assert_eq!(register.writes_since(site, refused_at), 0, "site {site} writes without site 3's lease");
        assert_eq!(register.reads_since(site, refused_at), 0, "site {site} reads without site 3's lease");
    }
    world.networks().heal();
    world.wait_until_without(&[3]);
    register.wait_for_both(&world, 1, 50);
    register.wait_for_both(&world, 2, 50);
    world.start_again(THREE);
    all_come_back(world, register);
}

/// When every site is alone, at most the one that reaches the oracle first goes on: two would be two databases.
#[test]
fn of_three_sites_cut_off_from_each_other_one_goes_on_at_most() {
    let Some(mut world) = World::start_in_networks() else { return };
    let register = Register::start(&world);
    let cut_at = Instant::now();
    for (one, other) in [(ONE, TWO), (ONE, THREE), (TWO, THREE)] {
        world.networks().cut(one, other);
    }
    let alone = |status: &Status| is_up(status) && status.members.len() == 1;
    let statuses = world.wait("one site to go on alone", |statuses| statuses.values().any(alone));
    let survivors: Vec<u16> = statuses.iter().filter(|(_, status)| alone(status)).map(|(site, _)| *site).collect();
    assert_eq!(survivors.len(), 1, "{statuses:?}");
    assert_eq!(statuses[&survivors[0]].durability, "disk", "one copy in memory must not pass for enough");
    let since = Instant::now();
    register.wait_for_both(&world, survivors[0], 50);
    for site in (1..=3).filter(|site| *site != survivors[0]) {
        assert_eq!(register.writes_since(site, since), 0, "sites {site} and {} both write", survivors[0]);
        assert_eq!(register.reads_since(site, since), 0, "site {site} reads what {} changes", survivors[0]);
    }
    eprintln!("longest gap: {} ms", register.longest_gap(&[1, 2, 3], cut_at).as_millis());
    all_come_back(world, register);
}

/// A network that loses one packet in twenty must cost speed only: no booking lost or doubled, every copy equal.
#[test]
fn under_loss_the_books_balance() {
    let Some(mut world) = World::start_in_networks() else { return };
    let crew = world.load(6);
    world.networks().lose(5);
    let begun = Instant::now();
    while begun.elapsed() < LONG {
        world.wait_for_commits(&crew, 20);
    }
    let counts = crew.counts();
    eprintln!("under loss: {counts:?}");
    world.networks().heal();
    world.wait_until_repaired();
    world.wait_for_commits(&crew, 50);
    world.audit(crew);
}
