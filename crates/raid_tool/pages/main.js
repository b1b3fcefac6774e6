// The frame around all pages: which one is shown, and the samples that come once a second.

import { ask, make, say } from "./page.js";
import { clock, count, short, total } from "./words.js";
import { Past } from "./charts.js";
import * as overview from "./overview.js";
import * as picture from "./picture.js";
import * as charts from "./charts.js";
import * as statements from "./statements.js";
import * as tables from "./tables.js";
import * as network from "./network.js";
import * as reconfigure from "./reconfigure.js";
import * as sql from "./sql.js";

const PAGES = [
  ["overview", "Overview", overview.open],
  ["picture", "Picture", picture.open],
  ["charts", "Charts", charts.open],
  ["statements", "Statements", statements.open],
  ["contention", "Contention", tables.contention],
  ["sessions", "Sessions", tables.sessions],
  ["network", "Network", network.open],
  ["reconfigure", "Reconfigure", reconfigure.open],
  ["sql", "SQL", sql.open],
];

/** What all pages share. */
const shared = { sample: null, before: null, console: null, past: new Past() };

const content = document.getElementById("content");
const links = new Map();
let shown = null;
let heardAt = 0;

function build() {
  const nav = document.getElementById("pages");
  for (const [name, title] of PAGES) {
    if (name === "sql" && shared.console.read_only) continue;
    const link = make("a", { href: `#${name}` }, title);
    links.set(name, link);
    nav.append(link);
  }
}

/** Shows the page that the address names. A page is a function from what is shared to { parts, update, close }. */
function open() {
  const wanted = location.hash.slice(1);
  const [name, title, start] = PAGES.find(([known]) => known === wanted && links.has(known)) ?? PAGES[0];
  shown?.close?.();
  for (const [known, link] of links) {
    if (known === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `RaidTool: ${title}`;
  content.dataset.page = name;
  content.replaceChildren();
  shown = start(shared);
  content.append(...shown.parts);
  if (shared.sample) shown.update?.(shared);
  links.get(name).scrollIntoView({ block: "nearest", inline: "nearest" });
  scrollTo(0, 0);
}

function take(event) {
  heardAt = Date.now();
  shared.before = shared.sample;
  shared.sample = JSON.parse(event.data);
  shared.past.add(shared.sample);
  summarize();
  shown?.update?.(shared);
}

function summarize() {
  const sites = shared.sample.sites;
  const up = sites.filter((site) => site.answers && ["up", "recovering"].includes(site.view?.state)).length;
  const epoch = Math.max(0, ...sites.filter((site) => site.answers).map((site) => site.view?.epoch ?? 0));
  const summary = document.getElementById("summary");
  summary.className = up === sites.length ? "good" : "bad";
  say(summary, `${up} of ${sites.length} sites serve · epoch ${count(epoch)} · ${short(total(shared.sample, "commits"))} commits/s`);
}

/** Says whether what is shown is of now. */
function tellAge() {
  const live = document.getElementById("live");
  const age = Date.now() - heardAt;
  const fresh = heardAt > 0 && age < 4000;
  live.classList.toggle("stale", !fresh);
  say(live, fresh ? clock(shared.sample.time_ms) : heardAt === 0 ? "Waiting for the sites" : "The console does not answer");
}

function theme() {
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    say(button, name === "dark" ? "Light" : "Dark");
    button.setAttribute("aria-label", name === "dark" ? "Use light colours" : "Use dark colours");
    dispatchEvent(new Event("theme"));
  };
  const kept = () => localStorage.getItem("raid-theme");
  set(kept() ?? (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => { if (!kept()) set(dark.matches ? "dark" : "light"); });
  button.addEventListener("click", () => {
    const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("raid-theme", name);
    set(name);
  });
}

async function start() {
  theme();
  const events = new EventSource("/events");
  events.addEventListener("sample", take);
  setInterval(tellAge, 500);
  try {
    shared.console = await ask("/api/console");
  } catch (error) {
    content.append(make("p", { class: "failure", role: "alert" }, error.message));
    return;
  }
  build();
  open();
  addEventListener("hashchange", open);
  await shared.past.load();
  shown?.update?.(shared);
}

start();
