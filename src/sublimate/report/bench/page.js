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
const makeFilter = (table, box) => {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 6) return;
  const label = document.createElement("label");
  const input = document.createElement("input");
  const found = document.createElement("output");
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
};
const makeColumns = (table, box) => {
  if (!table.querySelector(".further")) return;
  const button = document.createElement("button");
  button.type = "button";
  const show = (all) => {
    table.classList.toggle("brief", !all);
    button.setAttribute("aria-pressed", all);
    dispatchEvent(new Event("resize")); // what can be scrolled has changed
  };
  button.append("All columns");
  button.addEventListener("click", () => show(button.getAttribute("aria-pressed") !== "true"));
  box.append(button);
  show(false);
};
// A table that is cut says so: its edge fades, and words stand above it.
const makeEdge = (scroll) => {
  const words = document.createElement("p");
  words.className = "cut";
  words.append("There are more columns: scroll the table sideways. →");
  scroll.before(words);
  const look = () => {
    const cut = scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 1;
    scroll.classList.toggle("fading", cut);
    words.hidden = scroll.clientWidth >= scroll.scrollWidth;
  };
  scroll.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(scroll); // also when a part of the page is opened
  addEventListener("resize", look);
  look();
};
document.querySelectorAll(".scroll").forEach(makeEdge);
document.querySelectorAll("table.sortable").forEach((table) => {
  const box = document.createElement("div");
  box.className = "filter";
  makeSortable(table);
  makeColumns(table, box);
  makeFilter(table, box);
  if (box.childElementCount) table.parentElement.previousElementSibling.before(box);
});

const resize = (width) => places.forEach((place) => Plotly.relayout(place, { width, autosize: !width }));
addEventListener("beforeprint", () => {
  places.forEach(draw);
  resize(320); // two beside each other on paper
});
addEventListener("afterprint", () => resize(null));
