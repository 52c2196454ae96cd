// Long tables sort by their heads: ascending, descending, as they came. Dashes stay last.
"use strict";
const NUMBER = /^[$¥<>≈]?\s*([+−-]?(?:\d[\d,]*(?:\.\d+)?|\.\d+))(?=$|[\s%*†±[(])/u;
const EMPTY = new Set(["", "–", "—"]);
const words = new Intl.Collator(document.documentElement.lang, { numeric: true });

function sorted(rows, column, direction) {
  const texts = new Map(rows.map((row) => [row, row.cells[column].textContent.trim()]));
  const filled = rows.filter((row) => !EMPTY.has(texts.get(row)));
  const found = new Map(filled.map((row) => [row, NUMBER.exec(texts.get(row))]));
  const value = (row) => Number(found.get(row)[1].replace("−", "-").replaceAll(",", ""));
  const compare = filled.every((row) => found.get(row))
    ? (a, b) => value(a) - value(b)
    : (a, b) => words.compare(texts.get(a), texts.get(b));
  filled.sort((a, b) => direction * compare(a, b));
  return [...filled, ...rows.filter((row) => EMPTY.has(texts.get(row)))];
}

for (const table of document.querySelectorAll("table.pl-sortable")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  if (rows.some((row) => row.cells.length !== heads.length)) continue;
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
