// SQL: a text, the site that is asked, and what it answers.

import { ask, choice, field, make, page, say } from "./page.js";
import { count, milliseconds } from "./words.js";

const KEPT = "raid-sql";

export function open(shared) {
  const text = make("textarea", { rows: "7", spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
  text.value = sessionStorage.getItem(KEPT) ?? "SELECT method, set_for, since FROM raid.concurrency;";
  const site = choice(shared.console.sites.map((number) => [String(number), `site ${number}`]));
  const run = make("button", { type: "button", class: "main", click: () => start(text.value) }, "Run");
  const explain = make("button", { type: "button", click: () => start(`EXPLAIN ${text.value}`) }, "Explain");
  const cancel = make("button", { type: "button", disabled: true, click: () => running?.abort() }, "Cancel");
  const status = make("p", { class: "quiet", role: "status" });
  const results = make("div", { class: "results" });
  let running = null;

  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start(text.value);
  });

  const start = async (asked) => {
    if (running || asked.trim() === "") return;
    sessionStorage.setItem(KEPT, text.value);
    running = new AbortController();
    [run.disabled, explain.disabled, cancel.disabled] = [true, true, false];
    say(status, `Site ${site.value} is asked.`);
    results.replaceChildren();
    try {
      const answer = await ask("/api/sql", { site: Number(site.value), text: asked }, running.signal);
      results.append(...answer.results.map((result) => shown(result, shared.console.rows_max)));
      say(status, `Site ${site.value} has answered in ${milliseconds(answer.took_ms)}.`);
    } catch (error) {
      const words = error.name === "AbortError" ? "Cancelled." : error.message;
      const { code, position } = error.answer ?? {};
      results.append(failure(words, code, position ? around(asked, position) : null));
      say(status, "");
    }
    running = null;
    [run.disabled, explain.disabled, cancel.disabled] = [false, false, true];
  };

  return {
    parts: page("SQL", `As ${shared.console.user}, in a session of its own for each run. At most ${count(shared.console.rows_max)} rows are shown.`,
      make("div", { class: "sql" }, field("Statements", text),
        make("div", { class: "controls" }, field("Ask", site), run, explain, cancel, make("span", { class: "quiet" }, "Ctrl+Enter runs it."))),
      status, results),
    close: () => running?.abort(),
  };
}

function failure(words, code, lines) {
  return make("div", { class: "failure", role: "alert" },
    make("p", {}, words, code ? make("small", {}, ` SQLSTATE ${code}`) : null), lines ? make("pre", {}, lines) : null);
}

/** The line with the error, and a sign below the place. Positions count characters, not units of UTF-16. */
function around(asked, position) {
  const before = [...asked].slice(0, position - 1).join("");
  const begin = before.lastIndexOf("\n") + 1;
  const end = asked.indexOf("\n", begin);
  const column = before.length - begin;
  return `${asked.slice(begin, end < 0 ? undefined : end)}\n${" ".repeat(Math.max(0, column))}^`;
}

function shown(result, rowsMax) {
  if (!result.columns) return make("p", { class: "done" }, `Done; ${count(result.count)} ${result.count === 1 ? "row" : "rows"} changed.`);
  const number = result.columns.map((_, at) => {
    const values = result.rows.map((row) => row[at]).filter((value) => value !== null);
    return values.length > 0 && values.every((value) => /^-?[0-9][0-9.]*(e[-+]?[0-9]+)?$/i.test(value));
  });
  const cell = (value, at) => make("td", { class: number[at] ? "number" : value === null ? "quiet" : "" }, value ?? "NULL");
  const plan = result.columns.length === 1 && /plan/i.test(result.columns[0]);
  const words = `${count(result.rows.length)} ${result.rows.length === 1 ? "row" : "rows"}${result.is_cut ? `, and more: only the first ${count(Math.min(rowsMax, result.rows.length))} are shown` : ""}`;
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words },
    make("table", { class: plan ? "plan" : "" }, make("caption", {}, words),
      make("thead", {}, make("tr", {}, ...result.columns.map((name, at) => make("th", { scope: "col", class: number[at] ? "number" : "" }, name)))),
      make("tbody", {}, ...result.rows.map((row) => make("tr", {}, ...row.map(cell))))));
}
