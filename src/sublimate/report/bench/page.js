"use strict";
const charts = JSON.parse(document.getElementById("charts").textContent);
const places = [...document.querySelectorAll(".chart")];
const draw = (place) => {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  const chart = charts[Number(place.dataset.chart)];
  Plotly.newPlot(place, chart.data, chart.layout, { responsive: true, displayModeBar: false });
};
// A long page is quick when only what comes into sight is drawn.
const watch = new IntersectionObserver((seen) => {
  seen.filter((one) => one.isIntersecting).forEach((one) => { draw(one.target); watch.unobserve(one.target); });
}, { rootMargin: "800px" });
places.forEach((place) => watch.observe(place));

const key = (row, column) => row.cells[column].dataset.sort;
const compare = (a, b) => {
  const [x, y] = [Number(a), Number(b)];
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
};
const sort = (table, column, way) => {
  const sign = way === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].sort((one, other) => {
    const [a, b] = [key(one, column), key(other, column)];
    return a === "" || b === "" ? (a === "") - (b === "") : sign * compare(a, b); // what is missing comes last, either way
  });
  table.tBodies[0].append(...rows);
  [...table.tHead.rows[0].cells].forEach((head, n) => head.setAttribute("aria-sort", n === column ? way : "none"));
  table.classList.add("sorted");
};
const makeSortable = (table) => [...table.tHead.rows[0].cells].forEach((head, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  head.setAttribute("aria-sort", "none");
  button.addEventListener("click", () => sort(table, column, head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending"));
});
const makeFilter = (table) => {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 6) return;
  const box = document.createElement("p");
  const label = document.createElement("label");
  const input = document.createElement("input");
  const found = document.createElement("output");
  box.className = "filter";
  input.type = "search";
  input.autocomplete = "off";
  input.placeholder = table.dataset.filter;
  label.append("Show only ", input);
  box.append(label, found);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
    found.textContent = wanted ? `${rows.filter((row) => !row.hidden).length} of ${rows.length}` : "";
  });
  table.parentElement.before(box);
};
document.querySelectorAll("table.sortable").forEach((table) => { makeSortable(table); makeFilter(table); });

const resize = (width) => places.forEach((place) => Plotly.relayout(place, { width, autosize: !width }));
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((part) => { part.open = true; });
  places.forEach(draw);
  resize(320); // two beside each other on paper
});
addEventListener("afterprint", () => resize(null));
