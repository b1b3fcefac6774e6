// Reconfigure: what can be done to the cluster, what it costs, said before, and what it did, said after.

import { ask, choice, field, follow, make, merged, page, say, Table } from "./page.js";
import { count, milliseconds, serverName, short, stateOf } from "./words.js";

export function open(shared) {
  const { console: tool } = shared;
  const outcome = make("div", { class: "outcome", role: "status" });
  const log = new Table("Done from this console", ["Time", "What", "Outcome", { title: "Took", number: true }, "From"]);
  const dialog = make("dialog", { "aria-labelledby": "dialog-title" });
  const sites = new Map();
  const grid = make("div", { class: "actions" });
  let busy = false;

  const command = (words) => `raid ${words} --data ${tool.folder}`;
  const why = tool.read_only ? "This console is read-only." : tool.local ? "" : "Give the command on the site's host.";

  const tellLog = async () => {
    const { done } = await ask("/api/actions").catch(() => ({ done: [] }));
    log.show(done.map((entry) => [
      entry.time.replace("T", " ").slice(0, 19), { text: entry.what, class: "code words" }, { text: entry.said, class: entry.ok ? "words" : "words state bad" },
      milliseconds(entry.took_ms), entry.who,
    ]), "Nothing yet. What is done here is also written to console.log in the cluster's folder.");
  };

  /** Asks whether it is to be done, and does it. `text` is what a person would type. */
  const propose = ({ title, costs, text, button, grave, document_ }) => {
    const go = make("button", { type: "submit", class: grave ? "grave" : "main", value: "go" }, button);
    dialog.replaceChildren(make("form", { method: "dialog" },
      make("h2", { id: "dialog-title" }, title), make("ul", {}, ...costs.map((cost) => make("li", {}, cost))),
      make("pre", {}, text),
      make("div", { class: "controls" }, make("button", { type: "submit", value: "" }, "Leave it"), go)));
    dialog.onclose = () => { if (dialog.returnValue === "go") carryOut(title, document_); };
    dialog.returnValue = "";
    dialog.showModal();
  };

  const carryOut = async (title, document_) => {
    busy = true;
    enable();
    outcome.className = "outcome waits";
    outcome.replaceChildren(make("p", {}, `${title}: under way.`));
    try {
      const done = await ask("/api/actions", document_);
      outcome.className = "outcome good";
      outcome.replaceChildren(make("p", {}, done.said || "Done."), make("p", { class: "quiet" }, `${title}: done in ${milliseconds(done.took_ms)}.`));
    } catch (error) {
      outcome.className = "outcome bad";
      outcome.replaceChildren(make("p", {}, error.message), make("p", { class: "quiet" }, `${title}: not done.`));
    }
    busy = false;
    enable();
    tellLog();
  };

  const enable = () => {
    for (const button of grid.parentElement?.querySelectorAll("[data-needs]") ?? []) {
      button.disabled = busy || tool.read_only || (button.dataset.needs === "local" && !tool.local);
    }
  };

  const processes = ["oracle", ...tool.sites.map(String)];
  for (const name of processes) {
    const title = name === "oracle" ? "Oracle" : `Site ${name}`;
    const state = make("span", { class: "state" });
    const act = (action, words, grave) => make("button", {
      type: "button", "data-needs": "local", class: grave ? "grave" : "", "aria-label": `${words} ${title.toLowerCase()}`,
      click: () => propose({
        title: `${words} ${title.toLowerCase()}`, button: `${words} ${title.toLowerCase()}`, grave, text: command(`${action} ${name}`),
        costs: costs(action, name, shared), document_: { action, name },
      }),
    }, words);
    const buttons = [act("kill", "Kill", true), act("restart", "Restart", false)];
    if (name !== "oracle") buttons.push(act("repair", "Repair", true));
    sites.set(name, state);
    const hint = why ? make("p", { class: "quiet" }, why, make("code", {}, `raid restart ${name} --data DIR`)) : null;
    grid.append(make("article", { class: "card" }, make("header", {}, make("strong", {}, title), state), make("div", { class: "controls" }, ...buttons), hint));
  }

  const move = moveForm(tool, shared, propose, command);
  const method = methodForm(tool, shared, propose);
  const update = ({ sample }) => {
    for (const site of sample.sites) {
      const { word, kind } = stateOf(site);
      const element = sites.get(String(site.site));
      element.className = `state ${kind}`;
      say(element, word);
    }
    const peers = sample.sites.filter((site) => site.answers && site.view).flatMap((site) => site.view.peers.filter((peer) => peer.site === 0));
    const reached = peers.some((peer) => peer.connected);
    sites.get("oracle").className = `state ${reached ? "good" : "dead"}`;
    say(sites.get("oracle"), reached ? "reached" : "not reached");
    method.update(sample);
  };
  const parts = page("Reconfigure", why || "Each action says first what it costs. One runs at a time.", outcome,
    make("section", {}, make("h2", {}, "Processes"), grid),
    make("section", {}, make("h2", {}, "Method of concurrency control"), method.element),
    make("section", {}, make("h2", {}, "Place of a server"), move),
    make("section", {}, make("h2", {}, "Log"), log.element, log.empty), dialog);
  tellLog();
  queueMicrotask(enable);
  return { parts, update, close: () => { method.close(); if (dialog.open) dialog.close(); } };
}

/** What an action costs, by what is known of the cluster now. */
function costs(action, name, { sample }) {
  const number = Number(name);
  const site = sample?.sites.find((known) => known.site === number);
  const others = sample?.sites.filter((known) => known.site !== number && known.answers && known.view?.state === "up").length ?? 0;
  if (name === "oracle") {
    const wait = "Running sites go on; their set cannot change, and none can come back, until it is there again.";
    return action === "kill" ? ["SIGKILL for the oracle's process.", wait] : ["A process that runs is killed first.", wait];
  }
  const clients = site?.answers ? count(site.view.clients) : "Its";
  const list = [];
  if (action === "kill") list.push("SIGKILL for its process: nothing is flushed and nobody is told.");
  else if (site?.answers) list.push("Its process is killed first.");
  if (site?.answers) {
    list.push(`${clients} ${site.view.clients === 1 ? "client loses its connection" : "clients lose their connections"}; ${short(site.figures.commits ?? NaN)} commits a second are its own now.`);
    list.push(`The others serve nothing for the rest of its lease, at most about ${site.view.lease_ms} ms, and go on without it.`);
    list.push(others === 0 ? "It is the last current site: nobody serves until it is back." : `${others} current ${others === 1 ? "copy remains" : "copies remain"}.${others < (site.view.required_copies ?? 0) ? " Commits then wait for the disk." : ""}`);
  }
  if (action === "kill") list.push("It stays down until it is restarted.");
  if (action === "restart") list.push("It serves at once when it is back, and copies what changed while it was away.");
  if (action === "repair") {
    list.push("Its copy is set aside, and a new one of all rows comes from the other sites: that needs its own room on the disk, and their time.");
    if (others === 0) list.push("No other site has a current copy now: it would wait for one.");
  }
  return list;
}

function moveForm(tool, shared, propose, command) {
  const site = choice(tool.sites.map((number) => [String(number), `site ${number}`]));
  const server = choice(tool.servers.map((name) => [name, serverName(name)]));
  const to = choice([["site", "the site's own process"], ...tool.servers.map((name) => [name, `process of the ${serverName(name).toLowerCase()}`])]);
  const button = make("button", {
    type: "button", "data-needs": "local", click: () => {
      const words = `move ${server.value} --site ${site.value} --to ${to.value}`;
      const place = shared.sample?.sites.find((known) => String(known.site) === site.value)?.view?.servers.find((known) => known.server === server.value);
      const costly = server.value === "access-manager";
      propose({
        title: `Move the ${serverName(server.value).toLowerCase()} of site ${site.value}`, button: "Move it", grave: costly, text: command(words),
        costs: [
          place ? `It is in the process “${place.process}” now.` : "Nobody knows where it is now.",
          "The site stands still while the server's state goes over, usually for milliseconds. No client notices.",
          costly ? "With the access manager goes what is in memory: that can take longer than a lease, and the site then leaves and comes back." : "Messages to a server in another process cost more.",
          "It lasts until the site's process ends.",
        ],
        document_: { action: "move", site: Number(site.value), server: server.value, to: to.value },
      });
    },
  }, "Move…");
  return make("div", { class: "controls" }, field("Server", server), field("Of", site), field("To", to), button);
}

function methodForm(tool, shared, propose) {
  const method = choice(tool.methods.map((name) => [name, name === "auto" ? "auto: each site chooses" : name]));
  const way = choice([["", "as it is set"], ...tool.ways]);
  const site = choice([["", "all sites"], ...tool.sites.map((number) => [String(number), `site ${number}`])]);
  const now = make("p", {});
  const table = new Table("What the sites' rules say of their load", ["Site", "Method", { title: "Belief", number: true }, "Rule", "Because"]);
  const close = follow("advice", (answers, error) => {
    const { rows, failures } = merged(answers);
    table.show(rows.filter((row) => row.rule !== null || row.in_force === "t").map((row) => [
      `Site ${row.site}`, { text: row.method, hint: row.in_force === "t" ? "in force" : "" }, row.belief, row.rule, { text: row.because, class: "words" },
    ]), error ?? (failures.join(" · ") || "No advice yet: sites judge their load every ten seconds, while there is any."));
  }, 5);
  const where = () => (site.value === "" ? {} : { site: Number(site.value) });
  const parameter = (name) => (site.value === "" ? `raid.concurrency_${name}` : `raid.site_${site.value}.concurrency_${name}`);
  const place = () => (site.value === "" ? "all sites" : `site ${site.value}`);
  const set = make("button", {
    type: "button", class: "main", "data-needs": "sql", click: () => propose({
      title: `Set ${method.value} at ${place()}`, button: "Set it", grave: false,
      text: [...(way.value ? [["way", way.value]] : []), ["method", method.value]].map(([name, value]) => `ALTER SYSTEM SET ${parameter(name)} = '${value}';`).join("\n"),
      costs: [
        "A small transaction, in force at each site where it is installed; sites serve meanwhile.",
        wayCost(way.value || "generic"),
        "What is aborted is tried again by the site, if it is a single statement or a CALL.",
      ],
      document_: { action: "method", method: method.value, ...(way.value ? { way: way.value } : {}), ...where() },
    }),
  }, "Set…");
  const reset = make("button", {
    type: "button", "data-needs": "sql", click: () => propose({
      title: `Take back what is set for ${place()}`, button: "Take it back", grave: false,
      text: ["method", "way"].map((name) => `ALTER SYSTEM RESET ${parameter(name)};`).join("\n"),
      costs: ["Where nothing is set, the site's own file decides."], document_: { action: "reset-method", ...where() },
    }),
  }, "Reset…");
  const update = (sample) => {
    const runs = sample.sites.map((known) => `site ${known.site} ${known.answers ? `runs ${known.view.method}` : "does not answer"}`);
    say(now, `${runs.join(", ")}.`.replace(/^./, (letter) => letter.toUpperCase()));
  };
  const element = make("div", {}, now, make("div", { class: "controls" }, field("Method", method), field("Way", way), field("At", site), set, reset), table.element, table.empty);
  return { element, update, close };
}

function wayCost(way) {
  if (way === "converting") return "What contradicts the new method is aborted at once, with 40001.";
  if (way === "suffix-sufficient") return "Both methods judge for five seconds at most; who is left then is aborted, with 40001.";
  return "Nobody is aborted: the new method judges from now on. If another way is set, that one holds.";
}
