// Numbers as people read them, and states in words and colours.

const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const NOTHING = "–";

/** A whole number. */
export function count(value) {
  return Number.isFinite(value) ? GROUPED.format(value) : NOTHING;
}

/** With three digits that matter. */
export function short(value) {
  if (!Number.isFinite(value)) return NOTHING;
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e9) return `${short(value / 1e9)} G`;
  if (size >= 1e6) return `${short(value / 1e6)} M`;
  if (size >= 1e4) return `${short(value / 1e3)} k`;
  if (size >= 100) return GROUPED.format(value);
  return String(Number(value.toPrecision(size >= 10 ? 3 : 2)));
}

/** Milliseconds. */
export function milliseconds(value) {
  if (!Number.isFinite(value)) return NOTHING;
  if (value >= 10_000) return `${short(value / 1000)} s`;
  return value > 0 && value < 1 ? `${short(value * 1000)} µs` : `${short(value)} ms`;
}

/** Microseconds. */
export function microseconds(value) {
  return value === null || value === undefined ? NOTHING : milliseconds(value / 1000);
}

/** Bytes, by powers of 1,000. */
export function bytes(value) {
  if (!Number.isFinite(value)) return NOTHING;
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (value >= size) return `${short(value / size)} ${unit}`;
  }
  return `${short(value)} B`;
}

/** How long ago. */
export function ago(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** The time of day. */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString("en-GB");
}

/** A site's state: its word, and the colour that stands for it. */
export function stateOf(site) {
  if (!site.answers) return { word: "no answer", kind: "dead" };
  const word = site.view?.state ?? "unknown";
  const kinds = { up: "good", recovering: "mends", "disk stalled": "bad", halted: "bad", lost: "bad" };
  return { word, kind: kinds[word] ?? "waits" };
}

/** The sum of a figure over all sites that have it. */
export function total(sample, name) {
  const values = sample.sites.map((site) => site.figures[name]).filter((value) => Number.isFinite(value));
  return values.length === 0 ? NaN : values.reduce((sum, value) => sum + value, 0);
}

/** The largest figure of all sites. */
export function largest(sample, name) {
  const values = sample.sites.map((site) => site.figures[name]).filter((value) => Number.isFinite(value));
  return values.length === 0 ? NaN : Math.max(...values);
}

const SERVERS = {
  "user-interface": "User interface", "action-driver": "Action driver", "concurrency-controller": "Concurrency controller",
  "atomicity-controller": "Atomicity controller", "replication-controller": "Replication controller", "access-manager": "Access manager",
};

/** A server's name as it is written in texts. */
export function serverName(name) {
  return SERVERS[name] ?? name;
}

/** A site's number, or the oracle. */
export function peerName(site) {
  return site === 0 ? "oracle" : `site ${site}`;
}

/** Figures between two samples of one connection, as long as the site's life is the same. */
export function rateBetween(before, now, seconds, of) {
  if (!before || !now || before.incarnation !== now.incarnation || !(seconds > 0)) return NaN;
  const difference = of(now) - of(before);
  return difference >= 0 ? difference / seconds : NaN;
}

/** What needs a hand, in words: { kind, text, command }. */
export function needs(sample) {
  const found = [];
  const add = (kind, text, command = null) => found.push({ kind, text, command });
  const answering = sample.sites.filter((site) => site.answers && site.view);
  for (const site of sample.sites) {
    const name = `Site ${site.site}`;
    if (!site.answers) {
      const since = site.silent_ms > 0 ? `has not answered for ${ago(site.silent_ms)}` : "does not answer";
      add("bad", `${name} ${since}: ${site.failure}`, `raid restart ${site.site}`);
      continue;
    }
    const { state, refusal, stale, set_back: setBack } = site.view;
    if (state === "recovering") {
      const how = setBack ? "all of its copy is brought anew" : `${count(stale)} rows are still to be copied`;
      add("mends", `${name} serves, and repairs its copy: ${how}.`);
    } else if (state !== "up" || refusal) {
      add("bad", `${name} is ${state} and serves nothing now${refusal ? `: ${refusal}` : ""}.`);
    }
    const left = site.figures.lease_left;
    if (state === "up" && site.view.lease_ms > 0 && left < site.view.lease_ms / 10) {
      add("mends", `${name} has ${milliseconds(left)} of its leases of ${site.view.lease_ms} ms left: is its host busy?`);
    }
    for (const peer of site.view.peers) {
      const other = sample.sites.find((known) => known.site === peer.site);
      if (!peer.connected && other?.answers) {
        add("bad", `${name} is not connected with ${peerName(peer.site)}${peer.failure ? `: ${peer.failure}` : ""}.`);
      }
      if (peer.loss_percent > 5) add("mends", `${name} loses ${short(peer.loss_percent)} % of what it sends to ${peerName(peer.site)}.`);
    }
  }
  const oracle = answering.flatMap((site) => site.view.peers).filter((peer) => peer.site === 0);
  if (oracle.length > 0 && !oracle.some((peer) => peer.connected)) {
    add("bad", "No site reaches the oracle: they go on, but their set cannot change.", "raid restart oracle");
  }
  const newest = answering.reduce((best, site) => (site.view.epoch > (best?.view.epoch ?? 0) ? site : best), null);
  if (newest) {
    const current = newest.view.members.filter((member) => member.state === "up").length;
    if (current < newest.view.required_copies) {
      add("mends", `Of the ${newest.view.required_copies} copies that a commit wants in memory, ${current} ${current === 1 ? "is" : "are"} current: durability is “${newest.view.durability}”.`);
    }
    const behind = answering.filter((site) => site.view.epoch < newest.view.epoch).map((site) => site.site);
    if (behind.length > 0) add("mends", `Site ${behind.join(", ")} knows an older epoch than ${newest.view.epoch}.`);
  }
  return found;
}
