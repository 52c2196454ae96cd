// Long tables sort by their heads: ascending, descending, as they came. Dashes stay last.
// They are filtered by words that a row holds, and by the values of columns that repeat a few.
"use strict";
const NUMBER = /^[$¥<>≈]?\s*([+−-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+))(?=$|[\s%*†±[(])/u;
const EMPTY = new Set(["", "–", "—"]);
const MOST = 15; // values of a column that is offered as a choice
const LONGEST = 40; // characters of such a value
const words = new Intl.Collator(document.documentElement.lang, { numeric: true });
const label = document.currentScript.dataset.filter;

const textOf = (row, column) => row.cells[column].textContent.trim();

function sorted(rows, column, direction) {
  const texts = new Map(rows.map((row) => [row, textOf(row, column)]));
  const filled = rows.filter((row) => !EMPTY.has(texts.get(row)));
  const found = new Map(filled.map((row) => [row, NUMBER.exec(texts.get(row))]));
  const value = (row) => Number(found.get(row)[1].replace("−", "-").replaceAll(",", ""));
  const compare = filled.every((row) => found.get(row))
    ? (a, b) => value(a) - value(b)
    : (a, b) => words.compare(texts.get(a), texts.get(b));
  filled.sort((a, b) => direction * compare(a, b));
  return [...filled, ...rows.filter((row) => EMPTY.has(texts.get(row)))];
}

function choice(rows, head, column) {
  const values = [...new Set(rows.map((row) => textOf(row, column)))].filter((text) => !EMPTY.has(text));
  const few = values.length > 1 && values.length <= Math.min(MOST, rows.length / 2);
  const isOther = values.some((text) => text.length > LONGEST) || values.every((text) => NUMBER.test(text));
  if (!few || isOther) return null;
  const select = document.createElement("select");
  const all = new Option(head.textContent.trim(), "");
  select.append(all, ...values.sort(words.compare).map((text) => new Option(text, text)));
  select.setAttribute("aria-label", `${label}: ${all.text}`);
  return select;
}

function addFilter(table, rows, heads) {
  const bar = document.createElement("div");
  const box = document.createElement("input");
  const count = document.createElement("output");
  const choices = heads.map((head, column) => choice(rows, head, column));
  bar.className = "pl-filter";
  box.type = "search";
  box.placeholder = label;
  box.setAttribute("aria-label", label);
  bar.append(box, ...choices.filter(Boolean), count);
  bar.addEventListener("input", () => {
    const wanted = box.value.toLowerCase().split(/\s+/u).filter(Boolean);
    const fits = (row) => {
      const text = row.textContent.toLowerCase();
      return wanted.every((word) => text.includes(word))
        && choices.every((select, column) => !select?.value || textOf(row, column) === select.value);
    };
    rows.forEach((row) => { row.hidden = !fits(row); });
    const left = rows.filter((row) => !row.hidden).length;
    count.textContent = left < rows.length ? `${left} / ${rows.length}` : "";
  });
  table.parentElement.before(bar);
}

for (const table of document.querySelectorAll("table.pl-sortable")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  if (rows.some((row) => row.cells.length !== heads.length)) continue;
  addFilter(table, rows, heads);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (was === "descending") return body.append(...rows);
      head.setAttribute("aria-sort", was ? "descending" : "ascending");
      body.append(...sorted(rows, column, was ? -1 : 1));
    });
  });
}
