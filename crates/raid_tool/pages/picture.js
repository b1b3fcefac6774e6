// Picture: the sites with their servers and processes, the oracle, memory servers, and what goes between them.

import { draw, make, page, say } from "./page.js";
import { count, peerName, rateBetween, serverName, short, stateOf } from "./words.js";

const WIDE = 760;
const CARD = { width: 236, height: 236 };

export function open(shared) {
  const edges = draw("svg", { class: "edges", "aria-hidden": "true" });
  const cards = new Map();
  const oracle = make("div", { class: "card oracle" });
  const stage = make("div", { class: "stage" }, edges, oracle);
  const list = make("ul", { class: "links" });
  let newest = null;
  const most = new Map();

  const update = ({ sample, before }) => {
    newest = { sample, before };
    for (const site of sample.sites) {
      if (!cards.has(site.site)) {
        const card = make("article", { class: "card", "aria-label": `Site ${site.site}` });
        cards.set(site.site, card);
        stage.append(card);
      }
      fill(cards.get(site.site), site, most);
    }
    fillOracle(oracle, sample);
    arrange();
  };

  const arrange = () => {
    if (!newest) return;
    const { sample, before } = newest;
    const width = stage.clientWidth;
    const found = connections(sample, before);
    const wide = width >= WIDE;
    stage.classList.toggle("wide", wide);
    tellLinks(list, found);
    if (!wide) {
      stage.removeAttribute("style");
      edges.replaceChildren();
      for (const card of [oracle, ...cards.values()]) card.removeAttribute("style");
      return;
    }
    const places = placed(sample.sites.map((site) => site.site), width);
    stage.style.height = `${places.height}px`;
    for (const [number, place] of places.at) {
      const card = number === 0 ? oracle : cards.get(number);
      card.style.left = `${place.x}px`;
      card.style.top = `${place.y}px`;
    }
    edges.setAttribute("viewBox", `0 0 ${width} ${places.height}`);
    edges.replaceChildren(...found.flatMap((edge) => drawn(edge, places.at)));
  };

  const sizes = new ResizeObserver(arrange);
  sizes.observe(stage);
  return {
    parts: page("Picture", "Every site with its servers, in the processes where they run, and what goes between sites in a second.", stage,
      make("section", {}, make("h2", {}, "Connections"), list)),
    update, close: () => sizes.disconnect(),
  };
}

/** Middles of the boxes: the oracle in the middle of an ellipse of sites. */
function placed(numbers, width) {
  const middle = { x: width / 2 };
  const few = numbers.length <= 2;
  const across = Math.min((width - CARD.width) / 2 - 4, 460);
  const down = few ? 0 : Math.max(230, numbers.length * 46);
  const points = numbers.map((number, at) => {
    const turn = few ? Math.PI + at * Math.PI : -Math.PI / 2 + (2 * Math.PI * at) / numbers.length;
    return [number, { x: middle.x + across * Math.cos(turn), y: down * Math.sin(turn) }];
  });
  const least = Math.min(...points.map(([, point]) => point.y));
  const shift = CARD.height / 2 + 8 - least;
  const at = new Map(points.map(([number, point]) => [number, { x: point.x, y: point.y + shift }]));
  at.set(0, { x: middle.x, y: shift + (few ? 0 : 40) });
  const height = Math.max(...[...at.values()].map((point) => point.y)) + CARD.height / 2 + 8;
  return { at, height };
}

function fill(card, site, most) {
  const { word, kind } = stateOf(site);
  const view = site.view;
  const stale = view?.stale ?? 0;
  most.set(site.site, stale > 0 ? Math.max(stale, most.get(site.site) ?? 0) : 0);
  const text = JSON.stringify([word, kind, stale, site.answers && view?.servers, view?.method, site.figures, site.failure]);
  if (card.dataset.text === text) return;
  card.dataset.text = text;
  card.className = `card ${kind}`;
  card.replaceChildren(
    make("header", {}, make("strong", {}, `Site ${site.site}`), make("span", { class: `state ${kind}` }, word)),
    make("p", { class: "quiet" }, site.sql ? `SQL at ${site.sql}` : `console at ${site.console}`),
    ...(site.answers && view ? body(site, view, stale, most.get(site.site)) : [make("p", {}, site.failure ?? "It has not answered yet.")]),
  );
}

function body(site, view, stale, most) {
  const processes = new Map();
  for (const server of view.servers) {
    if (!processes.has(server.process)) processes.set(server.process, { pid: server.pid, servers: [] });
    processes.get(server.process).servers.push(server);
  }
  const boxes = [...processes].map(([name, { pid, servers }]) => make("div", { class: "process" },
    make("small", {}, pid > 0 ? `process ${name === "site" ? "of the site" : name} · ${pid}` : `at ${name}`),
    make("ul", {}, ...servers.map((server) => make("li", {},
      make("span", {}, serverName(server.server)), make("b", {}, server.messages > 0 ? `${short(site.figures[`server:${server.server}`] ?? 0)}/s` : ""))))));
  const bar = stale === 0 ? null : make("label", { class: "repair" }, `${count(stale)} rows to repair`,
    make("progress", { max: String(most), value: String(most - stale) }));
  const memory = view.log.servers.length > 0 ? make("p", { class: "quiet" }, `log kept by ${view.log.servers.join(", ")}`) : null;
  return [make("p", { class: "quiet" }, `${view.method} · ${count(view.clients)} clients · ${short(site.figures.commits)} commits/s`), bar, memory, ...boxes].filter(Boolean);
}

function fillOracle(card, sample) {
  const answering = sample.sites.filter((site) => site.answers && site.view);
  const reached = answering.filter((site) => site.view.peers.some((peer) => peer.site === 0 && peer.connected)).length;
  const known = answering.some((site) => site.view.peers.some((peer) => peer.site === 0));
  const kind = !known ? "waits" : reached === 0 ? "dead" : reached < answering.length ? "mends" : "good";
  const word = !known ? "unknown" : reached === 0 ? "not reached" : `reached by ${reached} of ${answering.length}`;
  card.className = `card oracle ${kind}`;
  if (card.children.length === 0) card.append(make("strong", {}, "Oracle"), make("span", {}));
  card.lastChild.className = `state ${kind}`;
  say(card.lastChild, word);
}

/** One entry for each pair, as the one with the lower number tells, or the other. */
function connections(sample, before) {
  const pairs = new Map();
  const seconds = before ? (sample.time_ms - before.time_ms) / 1000 : NaN;
  for (const site of sample.sites.filter((known) => known.answers && known.view)) {
    const earlier = before?.sites.find((known) => known.site === site.site);
    for (const peer of site.view.peers) {
      const [low, high] = [site.site, peer.site].sort((left, right) => left - right);
      const key = `${low}-${high}`;
      const frames = (view) => {
        const found = view.peers.find((known) => known.site === peer.site);
        return found ? found.frames_out + found.frames_in : NaN;
      };
      const rate = rateBetween(earlier?.answers ? earlier.view : null, site.view, seconds, frames);
      const known = pairs.get(key);
      if (known) known.connected &&= peer.connected;
      else pairs.set(key, { low, high, rate, connected: peer.connected, channel: peer.channel, encrypted: peer.encrypted, peer });
    }
  }
  return [...pairs.values()].sort((left, right) => left.low - right.low || left.high - right.high);
}

function describe(edge) {
  const { peer } = edge;
  const parts = [edge.connected ? `${short(edge.rate)} messages/s` : `cut off${peer.failure ? `: ${peer.failure}` : ""}`];
  if (edge.channel) parts.push(edge.channel);
  if (peer.lease_round_trip_us !== null) parts.push(`${short(peer.lease_round_trip_us / 1000)} ms`);
  if (peer.loss_percent > 0) parts.push(`${short(peer.loss_percent)} % lost`);
  if (edge.encrypted) parts.push("encrypted");
  return parts;
}

function drawn(edge, at) {
  const [from, to] = [at.get(edge.low), at.get(edge.high)];
  if (!from || !to) return [];
  const kind = edge.connected ? (edge.low === 0 ? "oracle" : "") : "cut";
  const [first, ...rest] = describe(edge);
  const nodes = [draw("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: `edge ${kind}` })];
  if (edge.low === 0) return nodes;
  const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  nodes.push(draw("text", { x: middle.x, y: middle.y - 4, class: "edge-text strong" }, first));
  nodes.push(draw("text", { x: middle.x, y: middle.y + 12, class: "edge-text" }, rest.join(" · ")));
  return nodes;
}

function tellLinks(list, found) {
  while (list.children.length > found.length) list.lastChild.remove();
  found.forEach((edge, at) => {
    if (!list.children[at]) list.append(make("li", {}, make("b"), make("span")));
    const [name, text] = list.children[at].children;
    say(name, `${peerName(edge.low)} – ${peerName(edge.high)}`.replace(/^./, (letter) => letter.toUpperCase()));
    say(text, describe(edge).join(" · "));
    text.className = edge.connected ? "" : "state bad";
  });
}
