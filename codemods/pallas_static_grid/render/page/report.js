"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const files = JSON.parse($("#patch-data").textContent);
  const articles = $$("article");
  const ticks = $$("input[data-file]");

  // ---- the patch of the ticked rewrites -------------------------------------------------------

  // The groups of a file that are ticked.
  const chosen = (file) =>
    new Set(ticks.filter((t) => +t.dataset.file === file && t.checked).map((t) => +t.dataset.group));

  // Every line that the choice shows: [mark, text], and the numbers of lines passed over.
  function rows(file, groups) {
    const taken = file.pieces.map((owners) => owners.some((group) => groups.has(group)));
    const out = [];
    for (const line of file.lines) {
      if (typeof line === "number") { out.push(line); continue; }
      const [text, added, removed] = line;
      if (added != null && !taken[added]) continue;
      const here = added != null;
      const gone = removed != null && taken[removed];
      if (here && gone) continue;
      out.push([gone ? "-" : here ? "+" : " ", text]);
    }
    return removedFirst(out);
  }

  // Within a change the removed lines come before the added ones.
  function removedFirst(found) {
    const out = [];
    let added = [];
    for (const row of found) {
      if (row[0] === "+") { added.push(row); continue; }
      if (row[0] !== "-") { out.push(...added); added = []; }
      out.push(row);
    }
    return out.concat(added);
  }

  function hunks(found) {
    const out = [];
    let before = 0, after = 0, recent = [], hunk = null, quiet = 0;
    const close = () => { if (hunk) out.push(hunk); hunk = null; recent = []; };
    for (const row of found) {
      if (typeof row === "number") { close(); before += row; after += row; continue; }
      const [mark, text] = row;
      if (mark === " ") {
        if (hunk && quiet < 3) { hunk.rows.push(row); quiet += 1; recent = []; }
        else recent.push(row);
        if (hunk && recent.length > 3) { out.push(hunk); hunk = null; }
        if (!hunk && recent.length > 3) recent.shift();
      } else {
        if (!hunk) hunk = { from: before - recent.length, to: after - recent.length, rows: recent };
        else hunk.rows.push(...recent);
        recent = [];
        quiet = 0;
        hunk.rows.push([mark, text]);
      }
      if (mark !== "+") before += 1;
      if (mark !== "-") after += 1;
    }
    close();
    return out;
  }

  const range = (start, count) => count === 1 ? `${start + 1}` : `${count ? start + 1 : start},${count}`;

  function hunkText(hunk) {
    const old = hunk.rows.filter((row) => row[0] !== "+").length;
    const fresh = hunk.rows.filter((row) => row[0] !== "-").length;
    const head = `@@ -${range(hunk.from, old)} +${range(hunk.to, fresh)} @@\n`;
    return head + hunk.rows.map(([mark, text]) =>
      mark + text + (text.endsWith("\n") ? "" : "\n\\ No newline at end of file\n")).join("");
  }

  function filePatch(file, groups) {
    if (!groups.size) return "";
    const notes = file.groups.flatMap((group, i) => groups.has(i) ? group : []).sort((a, b) => a - b);
    const body = hunks(rows(file, groups)).map(hunkText).join("");
    return body && notes.map((i) => file.notes[i]).join("") + file.header + body;
  }

  const patch = () => files.map((file, i) => filePatch(file, chosen(i))).join("");

  function download() {
    const text = patch();
    if (!text) return;
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type: "text/x-patch" }));
    link.download = "static-grid.patch";
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    say(`Downloaded the patch of ${count()}.`);
  }

  // ---- ticking --------------------------------------------------------------------------------

  const count = () => {
    const n = ticks.filter((t) => t.checked).length;
    return `${n} rewrite${n === 1 ? "" : "s"}`;
  };
  const say = (text) => { $("#said").textContent = text; };

  function refresh() {
    const button = $("#download");
    button.textContent = `Download patch (${count()})`;
    button.disabled = !ticks.some((t) => t.checked);
    for (const t of ticks) t.closest("article").classList.toggle("off", !t.checked);
  }

  function tick(box, value) {
    for (const t of ticks) {
      if (t.dataset.file === box.dataset.file && t.dataset.group === box.dataset.group) t.checked = value;
    }
  }

  for (const box of ticks) box.addEventListener("change", () => { tick(box, box.checked); refresh(); });
  const tickShown = (value) => {
    for (const t of ticks) if (!t.closest("article").hidden) tick(t, value);
    refresh();
  };
  $("#tick-all").addEventListener("click", () => tickShown(true));
  $("#tick-none").addEventListener("click", () => tickShown(false));
  $("#download").addEventListener("click", download);

  // ---- filters --------------------------------------------------------------------------------

  const checked = (name) => $$(`input[name=${name}]:checked`).map((box) => box.value);

  function filter() {
    const verdicts = checked("verdict");
    const transform = $("#transform").value;
    const safety = $("#safety").value;
    const path = $("#path").value.trim().toLowerCase();
    let shown = 0;
    for (const article of articles) {
      const data = article.dataset;
      const fits = verdicts.includes(data.verdict)
        && (!transform || data.transforms.split(" ").includes(transform))
        && (!safety || data.safety === safety)
        && (!path || data.path.toLowerCase().includes(path));
      article.hidden = !fits;
      shown += fits;
    }
    for (const section of $$("section.file")) section.hidden = !$("article:not([hidden])", section);
    $("#shown").textContent = `${shown} of ${articles.length} shown`;
    $("#nothing").hidden = shown > 0 || articles.length === 0;
  }
  for (const control of $$(".filter")) {
    control.addEventListener("input", filter);
    control.addEventListener("change", filter);
  }

  // ---- side by side ---------------------------------------------------------------------------

  function cells(row, kind) {
    if (!row) return '<td class="n e"></td><td class="l e"></td>';
    const number = row.cells[kind === "a" ? 1 : 0].innerHTML;
    const shade = row.className === "c" ? "" : ` ${row.className}`;
    return `<td class="n${shade}">${number}</td><td class="l${shade}">${row.cells[3].innerHTML}</td>`;
  }

  // Removed and added lines beside each other: a line beside the one that it became.
  function paired(removed, added) {
    const out = [];
    let i = 0, j = 0;
    while (i < removed.length || j < added.length) {
      const left = removed[i], right = added[j];
      const met = left && right && (left.dataset.p || right.dataset.p);
      if (met && left.dataset.p !== right.dataset.p) {
        const later = added.slice(j).some((row) => left.dataset.p && row.dataset.p === left.dataset.p);
        if (later) out.push([null, added[j++]]);
        else out.push([removed[i++], null]);
      } else out.push([removed[i++], added[j++]]);
    }
    return out;
  }

  function sideBySide(table) {
    const out = [];
    let removed = [], added = [];
    const flush = () => {
      for (const [left, right] of paired(removed, added))
        out.push(`<tr>${cells(left, "d")}${cells(right, "a")}</tr>`);
      removed = []; added = [];
    };
    for (const row of table.tBodies[0].rows) {
      const kind = row.className[0];
      if (kind === "d" && added.length) flush();
      if (kind === "d") removed.push(row);
      else if (kind === "a") added.push(row);
      else {
        flush();
        out.push(kind === "h" ? row.outerHTML : `<tr>${cells(row, "d")}${cells(row, "a")}</tr>`);
      }
    }
    flush();
    const split = document.createElement("table");
    split.className = "diff split";
    split.innerHTML = '<colgroup><col class="n"><col><col class="n"><col></colgroup>'
      + '<thead class="sr"><tr><th scope="col">old line</th><th scope="col">before</th>'
      + '<th scope="col">new line</th><th scope="col">after</th></tr></thead>'
      + `<tbody>${out.join("")}</tbody>`;
    return split;
  }

  function view(name) {
    for (const box of $$(".diffbox")) {
      const unified = $("table.diff:not(.split)", box);
      let split = $("table.split", box);
      if (name === "split" && !split) { split = sideBySide(unified); box.append(split); }
      unified.hidden = name === "split";
      if (split) split.hidden = name !== "split";
    }
  }
  for (const radio of $$("input[name=view]")) radio.addEventListener("change", () => view(radio.value));

  const indent = $("#indent");
  indent.addEventListener("change", () => document.body.classList.toggle("flat", !indent.checked));

  // ---- the chain ------------------------------------------------------------------------------

  function step(button) {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    const excerpt = document.getElementById(button.getAttribute("aria-controls"));
    if (excerpt) excerpt.hidden = !open;
    const article = button.closest("article");
    $$("tr.mark", article).forEach((row) => row.classList.remove("mark"));
    if (!open) return;
    for (const row of $$("table.diff:not(.split) tr", article)) {
      if (row.cells.length === 4 && row.cells[0].textContent === button.dataset.line
        && button.dataset.path === article.dataset.path) row.classList.add("mark");
    }
  }
  for (const button of $$("ol.steps button")) button.addEventListener("click", () => step(button));

  // ---- opening, keys, paper -------------------------------------------------------------------

  const details = $$("details.more");
  const openShown = (value) => details.forEach((d) => { if (!d.closest("article").hidden) d.open = value; });
  $("#open-all").addEventListener("click", () => openShown(true));
  $("#close-all").addEventListener("click", () => openShown(false));

  function move(by) {
    const visible = articles.filter((a) => !a.hidden);
    const at = visible.indexOf(document.activeElement.closest("article"));
    const next = visible[at < 0 ? (by > 0 ? 0 : visible.length - 1) : at + by];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  }

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    x: (article) => { const box = article && $("input[data-file]", article); if (box) box.click(); },
    o: (article) => { const more = article && $("details.more", article); if (more) more.open = !more.open; },
    s: () => {
      const radio = $$("input[name=view]").find((r) => !r.checked);
      radio.checked = true;
      view(radio.value);
    },
    i: () => indent.click(),
    d: () => $("#download").click(),
    "/": () => $("#path").focus(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.id === "path") event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input[type=search], select, textarea")) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action(document.activeElement.closest("article"));
  });

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = details.filter((d) => !d.open);
    closed.forEach((d) => { d.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));

  refresh();
  filter();
})();
