// Elements of pages. Values reach a page as text only: nothing that a site says is ever read as markup.

/** An element. Attributes that are functions are listeners; children are elements or text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** As `make`, for drawings. */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Sets a text that is read aloud or selected by somebody, only if it is another one. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A field with its label. */
export function field(label, control) {
  control.id ||= `field-${(field.count = (field.count ?? 0) + 1)}`;
  return make("div", { class: "field" }, make("label", { for: control.id }, label), control);
}

/** A list to choose from: pairs of value and text, or values. */
export function choice(options, attributes = {}) {
  const one = (option) => (Array.isArray(option) ? option : [option, option]);
  const items = options.map(one).map(([value, text]) => make("option", { value }, text));
  return make("select", attributes, ...items);
}

/** A table whose cells change in place, so that what is selected or focused stays.
 *  A column is a title, or { title, number, hint }. A cell is a text, or { text, class, hint }. */
export class Table {
  constructor(caption, columns) {
    this.columns = columns.map((column) => (typeof column === "string" ? { title: column } : column));
    this.body = make("tbody");
    this.rows = [];
    const heads = this.columns.map((column) =>
      make("th", { scope: "col", class: column.number ? "number" : "", title: column.hint }, column.title));
    const table = make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads)), this.body);
    this.element = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
    this.empty = make("p", { class: "quiet", hidden: true });
  }

  /** Shows these rows; without any, the text. */
  show(rows, nothing = "") {
    while (this.rows.length > rows.length) this.rows.pop().line.remove();
    rows.forEach((cells, at) => {
      if (!this.rows[at]) this.rows.push(this.line());
      cells.forEach((cell, column) => this.fill(this.rows[at].cells[column], cell, this.columns[column]));
    });
    this.element.hidden = rows.length === 0 && nothing !== "";
    this.empty.hidden = !this.element.hidden;
    say(this.empty, nothing);
  }

  line() {
    const cells = this.columns.map((_, at) => make(at === 0 ? "th" : "td", at === 0 ? { scope: "row" } : {}));
    const line = make("tr", {}, ...cells);
    this.body.append(line);
    return { line, cells };
  }

  fill(element, cell, column) {
    const { text, class: kind = "", hint = "" } = typeof cell === "object" && cell !== null ? cell : { text: cell };
    say(element, text === null || text === undefined ? "–" : String(text));
    const wanted = `${column?.number ? "number " : ""}${kind}`.trim();
    if (element.className !== wanted) element.className = wanted;
    if (element.title !== hint) element.title = hint;
  }
}

/** The head of a page, and what is below it. */
export function page(title, lead, ...children) {
  return [make("h1", {}, title), lead ? make("p", { class: "lead" }, lead) : null, ...children].filter(Boolean);
}

/** Asks the console. An error has the console's words. */
export async function ask(path, document_ = null, signal = undefined) {
  const options = document_ === null ? { signal } : {
    method: "POST", signal, headers: { "content-type": "application/json" }, body: JSON.stringify(document_),
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The console does not answer: does `raid console` still run?");
  }
  // The page that is served without a token tells how to get one.
  if (response.status === 401) location.reload();
  const answer = await response.json().catch(() => ({ error: "The console answers with something that is no JSON." }));
  if (!response.ok) throw Object.assign(new Error(answer.error), { answer });
  return answer;
}

/** Asks for a view now and then while its page is shown; returns what ends that. */
export function follow(name, show, seconds = 3) {
  let timer = null;
  let over = false;
  const turn = async () => {
    try {
      show(await ask(`/api/view?name=${encodeURIComponent(name)}`), null);
    } catch (error) {
      if (!over) show({}, error.message);
    }
    if (!over) timer = setTimeout(turn, seconds * 1000);
  };
  turn();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}

/** Rows of a view at all sites as objects with their site, and what sites said instead. */
export function merged(answers) {
  const rows = [];
  const failures = [];
  for (const [site, answer] of Object.entries(answers)) {
    if (answer.error) failures.push(`site ${site}: ${answer.error}`);
    for (const values of answer.rows ?? []) {
      const row = { site };
      (answer.columns ?? []).forEach((column, at) => { row[column] ??= values[at]; });
      rows.push(row);
    }
  }
  return { rows, failures };
}
