// All verdicts of a page: a list that is searched, filtered and sorted, and one reply in full. Texts are set as text, never as HTML.
"use strict";
const STEP = 200; // rows that are drawn at a time
const at = (id) => document.getElementById(id);

function make(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  if (name) made.className = name;
  return made;
}

async function unpack() {
  const bytes = Uint8Array.from(atob(at("data").textContent.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const show = (score) => (score === null || score === undefined ? "–" : Number.isInteger(score) ? String(score) : score.toFixed(2));
const sessionOf = (row) => `${row.user}/${row.scenario}/${row.session}`;
const nameOf = (row) => [sessionOf(row), row.turn, row.candidate].filter((part) => part !== "").join("/");

function start({ rows, sessions, answers, labels }) {
  const judges = [...new Set(rows.flatMap((row) => row.judges.map((own) => own.judge)))];
  const replyOf = (row) => row.reply ?? (sessions[sessionOf(row)] ?? []).find((turn) => turn[0] === row.turn)?.[2] ?? "";
  const requestOf = (row) => (sessions[sessionOf(row)] ?? []).find((turn) => turn[0] === row.turn)?.[1] ?? "";
  for (const row of rows) {
    row.by = new Map(row.judges.map((own) => [own.judge, own.raw]));
    const scores = row.judges.map((own) => own.raw).filter((raw) => raw !== null);
    const people = row.gold === null ? scores : [...scores, row.gold];
    row.apart = people.length > 1 ? Math.max(...people) - Math.min(...people) : -1;
    row.texts = [nameOf(row), requestOf(row), replyOf(row), ...row.judges.map((own) => own.rationale ?? "")].join("\n").toLowerCase();
  }

  const orders = { disagreement: (a, b) => b.apart - a.apart, order: null, lowest: (a, b) => (a.gold ?? 9) - (b.gold ?? 9) };
  const box = make("input");
  box.type = "search";
  box.placeholder = labels.search;
  box.setAttribute("aria-label", labels.search);
  const choose = (label, values) => {
    const select = make("select");
    select.append(new Option(`${label}: ${labels.all}`, ""), ...values.map((value) => new Option(String(value), String(value))));
    select.setAttribute("aria-label", label);
    return select;
  };
  const distinct = (name) => [...new Set(rows.map((row) => row[name]).filter((value) => value !== "" && value !== null))].sort();
  const filters = { table: labels.table, user: labels.user, scenario: labels.task, candidate: labels.candidate, gold: labels.gold };
  const selects = Object.entries(filters)
    .map(([name, label]) => [name, label, distinct(name)])
    .filter(([, , values]) => values.length > 1)
    .map(([name, label, values]) => [name, choose(label, values)]);
  const order = make("select");
  order.append(...Object.keys(orders).map((name) => new Option(labels[name], name)));
  order.setAttribute("aria-label", labels.disagreement);
  const count = make("output");
  at("controls").append(box, ...selects.map(([, select]) => select), order, count);

  const withCandidate = distinct("candidate").length > 0;
  const heads = [labels.user, labels.task, labels.turn, ...(withCandidate ? [labels.candidate] : []), labels.gold, ...judges];
  const head = make("tr");
  head.append(...heads.map((text) => make("th", text)));
  const table = make("table", null, "pl-table");
  const body = make("tbody");
  table.append(make("thead"), body);
  table.tHead.append(head);
  const more = make("button", labels.more);
  at("list").append(table, more);

  let found = rows;
  let drawn = 0;
  let current = null;

  function draw() {
    for (const row of found.slice(drawn, drawn + STEP)) {
      const line = make("tr");
      line.tabIndex = 0;
      const cells = [row.user, row.scenario, `${row.session}/${row.turn}`, ...(withCandidate ? [row.candidate] : []), show(row.gold)];
      line.append(...cells.map((text) => make("td", text)), ...judges.map((judge) => make("td", show(row.by.get(judge)))));
      const open = () => openRow(row, line);
      line.addEventListener("click", open);
      line.addEventListener("keydown", (event) => event.key === "Enter" && open());
      row.line = line;
      body.append(line);
    }
    drawn = Math.min(drawn + STEP, found.length);
    more.hidden = drawn >= found.length;
  }

  function refresh() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = rows.filter(
      (row) =>
        words.every((word) => row.texts.includes(word)) &&
        selects.every(([name, select]) => !select.value || String(row[name]) === select.value),
    );
    const by = orders[order.value];
    if (by) found = [...found].sort(by);
    count.textContent = fill(labels.count, { shown: found.length.toLocaleString(), all: rows.length.toLocaleString() });
    body.replaceChildren();
    drawn = 0;
    draw();
  }

  function message(side, who, text, score, name) {
    const made = make("div", null, `message ${side}${name ? ` ${name}` : ""}`);
    made.append(make("b", score === null || score === undefined ? who : `${who} · ${fill(labels.gave, { score: show(score) })}`), make("p", text));
    return made;
  }

  function folded(title, text) {
    const made = make("details");
    made.append(make("summary", title), make("pre", text));
    return made;
  }

  function openRow(row, line) {
    current?.classList.remove("chosen");
    current = line;
    current?.classList.add("chosen");
    const detail = at("detail");
    detail.replaceChildren(make("h2", nameOf(row)));
    for (const own of row.judges) {
      const block = make("section", null, "verdict");
      block.append(make("h3", `${own.judge}: ${show(own.raw)}${own.reason ? ` · ${own.reason}` : ""}`));
      if (own.rationale) block.append(make("p", own.rationale));
      if (own.error) block.append(make("p", own.error, "error"));
      const cited = own.evidence.map((place) => [place, String(place).split("/")]).filter(([, parts]) => parts.length === 3);
      if (cited.length) {
        const fold = make("details");
        fold.append(make("summary", `${labels.evidence}: ${own.evidence.join(", ")}`));
        for (const [place, [scenario, session, number]] of cited) {
          const turn = (sessions[`${row.user}/${scenario}/${session}`] ?? []).find((one) => String(one[0]) === number);
          if (turn) fold.append(make("h4", place), message("user", labels.user, turn[1]), message("assistant", labels.assistant, turn[2], turn[3]));
        }
        block.append(fold);
      }
      const [prompt, raw] = answers[own.asked] ?? [];
      if (prompt) block.append(folded(labels.prompt, prompt));
      if (raw) block.append(folded(labels.raw, raw));
      detail.append(block);
    }
    const turns = (sessions[sessionOf(row)] ?? []).filter((turn) => turn[0] <= row.turn);
    for (const turn of turns) {
      const isIt = turn[0] === row.turn;
      detail.append(message("user", labels.user, turn[1]));
      if (isIt && row.reply !== null) detail.append(make("p", fill(labels.replaced, { candidate: row.candidate }), "note"));
      detail.append(message("assistant", labels.assistant, isIt ? replyOf(row) : turn[2], isIt && row.reply !== null ? null : turn[3], isIt ? "it" : ""));
    }
    detail.scrollTop = 0;
    history.replaceState(null, "", `#${encodeURIComponent(nameOf(row))}`);
  }

  more.addEventListener("click", draw);
  for (const control of [box, order, ...selects.map(([, select]) => select)]) control.addEventListener("input", refresh);
  at("detail").append(make("p", labels.choose, "note"));
  refresh();
  const named = decodeURIComponent(location.hash.slice(1));
  const opened = named ? rows.find((row) => nameOf(row) === named) ?? rows.find((row) => nameOf(row).startsWith(`${named}/`)) : found[0];
  if (opened) openRow(opened, opened.line ?? null);
}

unpack().then(start);
