"use strict";
// The rows: filtered, searched and sorted as columns; only the rows that are seen are elements. All text goes in as text.
(() => {
  const ROW = 34, SPARE = 8, MOST_PIXELS = 8e6;
  const place = document.getElementById("explorer");
  const data = JSON.parse(document.getElementById("rows-data").textContent);
  const size = data.id.length, bits = data.bits, against = data.baseline;
  const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ud800-\udfff\u{e0000}-\u{e007f}]/gu;  // as context_bench.console
  const visible = text => String(text).replace(ODD, c => "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));
  const make = (tag, attributes, ...children) => {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
      if (name.startsWith("on")) one.addEventListener(name.slice(2), value); else if (value !== null) one.setAttribute(name, value);
    for (const child of children.flat())
      if (child !== null) one.append(child instanceof Node ? child : visible(child));
    return one;
  };
  const shown = value => value === null || value === undefined ? "–" : typeof value === "number" ? String(+value.toPrecision(4)) : visible(value);

  // ---- what the columns are
  const columns = [{ name: "id", width: "minmax(70px,1fr)", value: i => data.id[i] }];
  if (data.datasets.length > 1) columns.push({ name: "dataset", width: "minmax(70px,.8fr)", value: i => data.datasets[data.dataset[i]] });
  if (data.repetition) columns.push({ name: "repetition", width: "80px", value: i => data.repetition[i] });
  if (data.question) columns.push({ name: "question", width: "minmax(90px,3fr)", value: i => data.question[i] });
  for (const system of data.systems) {
    system.broken = new Set(system.failed);
    columns.push({ name: system.label, width: "minmax(74px,.8fr)", value: i => system.score[i], system });
  }
  const every = [...columns], hidden = new Set();
  let template = columns.map(c => c.width).join(" ");

  // ---- which rows, in which order
  const wanted = { bits: 0, dataset: "", text: "", column: null, descending: false };
  let order = new Uint32Array(0), haystack = null, active = 0;
  const hay = () => haystack || (haystack = Array.from({ length: size }, (_, i) => [data.id[i], data.question ? data.question[i] : "",
    data.gold ? data.gold[i] : "", ...data.systems.map(s => s.response[i] || "")].join("\n").toLowerCase()));
  function choose() {
    const text = wanted.text.toLowerCase(), stack = text ? hay() : null, dataset = wanted.dataset === "" ? -1 : +wanted.dataset;
    const found = new Uint32Array(size);
    let count = 0;
    for (let i = 0; i < size; i++)
      if ((!wanted.bits || data.state[i] & wanted.bits) && (dataset < 0 || data.dataset[i] === dataset) && (!text || stack[i].includes(text)))
        found[count++] = i;
    order = found.subarray(0, count);
    if (wanted.column) sort();
  }
  function sort() {
    const { value } = wanted.column, sign = wanted.descending ? -1 : 1, keys = new Array(size);
    for (const i of order) keys[i] = value(i);
    const none = key => key === null || key === undefined;
    order.sort((a, b) => {
      const x = keys[a], y = keys[b];
      if (x === y) return a - b;
      if (none(x) || none(y)) return none(x) ? none(y) ? a - b : 1 : -1;
      return (x < y ? -1 : 1) * sign;
    });
  }

  // ---- the list
  const counted = make("p", { role: "status", class: "note", id: "counted" });
  const inner = make("div", { role: "presentation" });
  const viewport = make("div", { class: "viewport", tabindex: "-1", role: "rowgroup", "aria-label": "Rows" }, inner);
  const head = make("div", { class: "grid-head", role: "row" });
  const grid = make("div", { class: "grid", role: "grid", "aria-labelledby": "rows-heading", "aria-colcount": String(columns.length) },
    make("div", { role: "rowgroup" }, head), viewport);
  function drawHead() {
    columns.splice(0, columns.length, ...every.filter(column => !hidden.has(column.name)));
    template = columns.map(c => c.width).join(" ");
    grid.setAttribute("aria-colcount", String(columns.length));
    head.replaceChildren();
    head.style.gridTemplateColumns = template;
    head.style.minWidth = viewport.style.minWidth = columns.reduce((sum, column) => sum + parseInt(column.width.match(/\d+/)[0]) + 10, 30) + "px";  // what does not fit is scrolled to
    for (const column of columns)
      head.append(make("span", { role: "columnheader", "aria-sort": "none" }, make("button", { type: "button", title: "Sort by " + column.name,
        onclick: () => { wanted.descending = wanted.column === column && !wanted.descending; wanted.column = column; refresh(); } }, column.name)));
  }
  drawHead();
  const scale = () => Math.max(1, order.length * ROW / MOST_PIXELS);
  const first = () => Math.floor(viewport.scrollTop * scale() / ROW);
  function draw() {
    const start = Math.max(0, first() - SPARE), end = Math.min(order.length, first() + Math.ceil(viewport.clientHeight / ROW) + SPARE);
    const offset = viewport.scrollTop - (viewport.scrollTop * scale() % ROW) - (first() * ROW) ;
    const isHere = viewport.contains(document.activeElement);
    inner.replaceChildren();
    for (let n = start; n < end; n++) {
      const i = order[n];
      const row = make("div", { class: n === active ? "grid-row active" : "grid-row", role: "row", id: "row-" + n, "aria-rowindex": String(n + 2),
        tabindex: n === active ? "0" : "-1", "aria-selected": String(n === active), onclick: () => { active = n; draw(); open(n); } }, columns.map(column => cell(column, i)));
      row.style.gridTemplateColumns = template;
      row.style.top = (scale() === 1 ? n * ROW : n * ROW + offset) + "px";
      inner.append(row);
    }
    const current = document.getElementById("row-" + active);  // the focus goes with the active row, and stays here when it is not seen
    if (!current && inner.firstChild) inner.firstChild.setAttribute("tabindex", "0");
    if (isHere && !dialog.open) (current || viewport).focus({ preventScroll: true });
  }
  function cell(column, i) {
    if (!column.system) return make("span", { role: "gridcell" }, shown(column.value(i)));
    const system = column.system, base = against === null ? null : data.systems[against];
    const mine = system.score[i], theirs = base && base !== system ? base.score[i] : null;
    const better = data.better[data.dataset[i]];
    let mark = "", word = "";
    if (system.broken.has(i)) [mark, word] = ["✗", "failed"];
    else if (mine !== null && theirs !== null && mine !== theirs && (better === "higher" || better === "lower"))
      [mark, word] = (mine > theirs) === (better === "higher") ? ["▲", "improved"] : ["▼", "regressed"];
    return make("span", { role: "gridcell" }, shown(mine), mark ? make("span", { class: "mark " + word, role: "img", "aria-label": word, title: word }, " " + mark) : null);
  }
  function refresh() {
    choose();
    active = Math.min(active, Math.max(0, order.length - 1));
    columns.forEach((column, n) => head.children[n].setAttribute("aria-sort", wanted.column !== column ? "none" : wanted.descending ? "descending" : "ascending"));
    grid.setAttribute("aria-rowcount", String(order.length + 1));
    inner.style.height = Math.max(ROW, Math.min(order.length * ROW, MOST_PIXELS)) + "px";
    inner.style.position = "relative";
    remember();
    counted.textContent = order.length.toLocaleString("en") + " of " + size.toLocaleString("en") + " lines";
    draw();
  }
  function move(to) {
    if (!order.length) return;
    active = Math.max(0, Math.min(order.length - 1, to));
    const top = active * ROW / scale(), height = viewport.clientHeight;
    if (top < viewport.scrollTop) viewport.scrollTop = top;
    else if (top + ROW > viewport.scrollTop + height) viewport.scrollTop = top + ROW - height;
    draw();
  }
  viewport.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  viewport.addEventListener("keydown", event => {
    const page = Math.floor(viewport.clientHeight / ROW) - 1;
    const steps = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: order.length - 1 };
    if (event.key in steps) move(steps[event.key]); else if (event.key === "Enter") open(active); else return;
    event.preventDefault();
  });

  // ---- what is wanted
  const boxes = [["regressed", "regressed"], ["different", "different"], ["improved", "improved"], ["failed", "failed"]]
    .filter(([name]) => against !== null || name === "failed").map(([name, label]) => {
      const count = data.state.reduce((sum, state) => sum + (state & bits[name] ? 1 : 0), 0);
      const box = make("input", { type: "checkbox", id: "only-" + name, onchange: restrict });
      box.checked = (name === "regressed" || name === "different" || against === null) && count > 0;
      return [bits[name], box, make("label", { for: "only-" + name }, box, " " + label + " (" + count.toLocaleString("en") + ")")];
    });
  function restrict() {
    wanted.bits = boxes.reduce((sum, [bit, box]) => sum | (box.checked ? bit : 0), 0);
    viewport.scrollTop = 0;
    refresh();
  }
  let waiting = 0, isReady = false;
  const search = make("input", { type: "search", id: "search", "aria-label": "Search ids, questions, answers and responses", placeholder: "search",
    oninput: () => { clearTimeout(waiting); waiting = setTimeout(() => { wanted.text = search.value; viewport.scrollTop = 0; refresh(); }, size > 5000 ? 80 : 0); } });
  const dataset = make("select", { "aria-label": "Dataset", id: "dataset", onchange: () => { wanted.dataset = dataset.value; viewport.scrollTop = 0; refresh(); } },
    make("option", { value: "" }, "all datasets"), data.datasets.map((label, n) => make("option", { value: String(n) }, label || "(no dataset)")));
  const all = make("button", { type: "button", id: "all", onclick: () => { boxes.forEach(([, box]) => { box.checked = false; }); restrict(); } }, "all lines");
  const chooser = make("details", { id: "columns" }, make("summary", {}, "columns"), make("fieldset", {}, make("legend", {}, "Columns"), every.map((column, n) => {
    const box = make("input", { type: "checkbox", id: "column-" + n, onchange: () => {
      if (box.checked) hidden.delete(column.name); else if (hidden.size < every.length - 1) hidden.add(column.name); else box.checked = true;
      drawHead(); refresh(); } });
    column.box = box;
    return make("label", { for: "column-" + n }, box, " " + column.name);
  })));
  place.append(make("div", { class: "controls" }, make("fieldset", {}, make("legend", {}, "Show only"), boxes.map(([, , label]) => label)), all,
    data.datasets.length > 1 ? dataset : null, search, chooser,
    make("span", { class: "note" }, make("kbd", {}, "/"), " search ", make("kbd", {}, "↑↓"), " move ", make("kbd", {}, "Enter"), " open")), counted, grid);

  // ---- one row
  const blocks = new Map(), body = make("div", {}), heading = make("h2", { id: "dialog-heading", tabindex: "-1" });
  const dialog = make("dialog", { "aria-labelledby": "dialog-heading" },
    make("div", { class: "controls" }, make("button", { type: "button", onclick: () => step(-1), id: "previous" }, "← previous"),
      make("button", { type: "button", onclick: () => step(1), id: "next" }, "next →"),
      make("button", { type: "button", onclick: shut, id: "close" }, "close")), heading, body);
  document.body.append(dialog);
  // The browser's own closing tells of it in a later task, and the row it would give the focus back to may be drawn anew:
  // so Escape and the close button shut the dialog here, and the row has the focus before the key is let go.
  const giveBack = () => { if (!dialog.open && !viewport.contains(document.activeElement)) (document.getElementById("row-" + active) || viewport).focus({ preventScroll: true }); };
  function shut() { dialog.close(); giveBack(); remember(); }
  dialog.addEventListener("keydown", event => {
    const isTyping = /INPUT|TEXTAREA|SELECT/.test(event.target.tagName || "");
    if (isTyping && event.key !== "Escape") return;
    if (event.key === "ArrowLeft") step(-1); else if (event.key === "ArrowRight") step(1);
    else if (event.key === "Escape") { event.preventDefault(); shut(); }
  });
  dialog.addEventListener("cancel", event => { event.preventDefault(); shut(); });
  dialog.addEventListener("close", giveBack);
  function step(by) { move(active + by); open(active); }
  async function open(n) {
    if (!order.length) return;
    const i = order[n];
    heading.textContent = visible(data.id[i]) + (data.datasets[data.dataset[i]] ? " – " + visible(data.datasets[data.dataset[i]]) : "");
    dialog.removeAttribute("data-row");
    body.setAttribute("aria-busy", "true");
    body.replaceChildren(make("p", {}, "…"));
    if (!dialog.open) dialog.showModal();
    heading.focus();
    remember();
    const detail = await detailOf(i);
    if (order[active] !== i) return;
    body.replaceChildren(...(detail ? told(detail) : excerpts(i)), ...(data.notes ? [review(i)] : []));
    body.removeAttribute("aria-busy");
    dialog.setAttribute("data-row", String(active));
  }
  async function detailOf(i) {
    const block = data.block[i];
    if (block >= 0) {
      if (!blocks.has(block)) blocks.set(block, JSON.parse(document.getElementById("texts-" + block).textContent));
      return blocks.get(block)[i];
    }
    if (!data.address) return null;
    const answer = await fetch(data.address + data.line[i]);
    return answer.ok ? answer.json() : null;
  }
  // ---- what a person says of a row: kept by the viewer beside the run; a draft stays while rows are opened
  const drafts = new Map();
  let who = "";
  function review(i) {
    const draft = drafts.get(i) || { rating: "", note: "" };
    drafts.set(i, draft);
    const rating = make("select", { id: "rating", onchange: () => { draft.rating = rating.value; } }, ["", "good", "bad", "unsure"].map(word => make("option", { value: word }, word || "no rating")));
    const note = make("textarea", { id: "note", rows: "2", oninput: () => { draft.note = note.value; } });
    const name = make("input", { id: "who", autocomplete: "name", oninput: () => { who = name.value; } });
    rating.value = draft.rating; note.value = draft.note; name.value = who;
    const list = make("ul", { "aria-label": "Notes of this row" }), said = make("span", { role: "status", class: "note", id: "saved" });
    const add = one => list.append(make("li", {}, [one.rating, one.note].filter(Boolean).join(": ") + " – " + [one.who, one.when].filter(Boolean).join(", ")));
    const key = { dataset: data.datasets[data.dataset[i]], id: String(data.id[i]), repetition: data.repetition ? data.repetition[i] : 0 };
    fetch(data.notes + "?" + new URLSearchParams(key)).then(answer => answer.json()).then(found => found.notes.forEach(add)).catch(() => { said.textContent = "The notes cannot be read."; });
    const save = async () => {
      const answer = await fetch(data.notes, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ ...key, rating: rating.value, note: note.value, who }) }).catch(() => null);
      if (!answer || !answer.ok) { said.textContent = answer ? await answer.text() : "The server does not answer; nothing is stored."; return; }
      add(await answer.json());
      drafts.delete(i); rating.value = note.value = ""; said.textContent = "stored";
    };
    return make("section", { class: "review", "aria-label": "Your rating" }, make("label", { for: "rating" }, "rating ", rating), make("label", { for: "note" }, "note ", note),
      make("label", { for: "who" }, "who ", name), make("button", { type: "button", id: "save-note", onclick: save }, "save"), said, list);
  }
  const text = (value, label) => make("div", { class: "text", tabindex: "0", role: "group", "aria-label": label }, value);
  function excerpts(i) {
    return [make("p", { class: "note" }, "The full texts of this line are not in the file; context-bench view shows them."),
      data.question ? text(data.question[i], "Question") : null, data.gold ? make("p", {}, "Right answer: ", data.gold[i]) : null,
      make("div", { class: "sides" }, data.systems.map(s => make("section", { class: "side" }, make("h3", {}, s.label),
        make("p", {}, "score ", shown(s.score[i])), text(shown(s.response[i]), "Response of " + s.label))))].filter(Boolean);
  }
  function told(detail) {
    const parts = [make("h3", {}, "Question"), text(shown(detail.question), "Question")];
    parts.push(...conversation(detail.messages, ""));
    parts.push(make("h3", {}, "Right answer"), text(detail.gold.join("\n") || "none", "Right answer"));
    parts.push(make("div", { class: "sides" }, detail.rows.map(row => side(row, detail))));
    if (detail.context) parts.push(make("details", {}, make("summary", {}, "Original context"), text(detail.context, "Original context")));
    if (Object.keys(detail.fields).length) parts.push(make("details", {}, make("summary", {}, "Other fields"), text(JSON.stringify(detail.fields, null, 2), "Other fields")));
    return parts;
  }
  function conversation(messages, of) {
    return messages.flatMap(message => [make("p", { class: "note" }, message.role), message.text ? text(message.text, "Message of " + message.role + of) : null,
      ...message.calls.map(call => { const box = text("calls " + call.name + " " + call.arguments, "Call of " + call.name + of); box.classList.add("call"); return box; })]).filter(Boolean);
  }
  function folded(title, fill) {  // filled when it is opened
    const box = make("details", {}, make("summary", {}, title));
    box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(fill()); });
    return box;
  }
  function side(row, detail) {
    const parts = [make("h3", {}, row.system), text(row.response === null ? "no response" : row.response === "" ? "(empty)" : row.response, "Response of " + row.system)];
    const base = against === null ? null : detail.rows.find(one => one.system === data.systems[against].label);
    if (base && base !== row && base.response !== null && row.response !== null && base.response !== row.response)
      parts.push(folded("Words that differ from " + base.system, () => difference(base.response, row.response, row.system, "Response of " + row.system + " against " + base.system)));
    if (row.transcript) parts.push(make("p", {}, make("a", { href: row.transcript }, "Turn by turn: what was sent and forwarded")));
    if (row.messages.length) parts.push(folded("Messages (" + row.messages.length + ")", () => make("div", {}, conversation(row.messages, ", " + row.system))));
    for (const failure of row.failures)
      parts.push(make("p", { class: "warning" }, failure.text + (failure.attempts > 1 ? " (" + failure.attempts + " attempts)" : "")),
        failure.traceback ? make("details", {}, make("summary", {}, "Traceback"), text(failure.traceback, "Traceback")) : "");
    const scores = row.scores.map(score => make("li", {}, make("strong", {}, score.key + ": " + shown(score.value)), score.by ? make("span", { title: score.by }, " by " + score.by.split("/").pop()) : "",
      score.reason ? make("div", { class: "text" }, score.reason) : null));
    for (const [evaluator, why] of Object.entries(row.unscored)) scores.push(make("li", {}, evaluator + ": unscored, " + why));
    parts.push(make("ul", {}, scores.length ? scores : make("li", {}, "no scores")));
    if (Object.keys(row.details).length) parts.push(make("details", {}, make("summary", {}, "What evaluators said"), text(JSON.stringify(row.details, null, 2), "Details")));
    const facts = { latency: shown(row.latency) + " s", cost: row.cost === null ? null : shown(row.cost) + " (" + row.cost_source + ")", attempts: row.metadata.attempts };
    for (const [name, count] of Object.entries({ ...row.usage, ...Object.fromEntries(Object.entries(row.tokens).map(([n, v]) => ["tokens, " + n, v])) })) facts[name.replaceAll("_", " ")] = count;
    parts.push(make("dl", {}, Object.entries(facts).filter(([, v]) => v !== null && v !== undefined).flatMap(([n, v]) => [make("dt", {}, n), make("dd", {}, shown(v))])));
    if (row.context !== null && detail.context && row.context !== detail.context) {
      const box = make("details", {}, make("summary", {}, "What was removed from the context"));
      box.addEventListener("toggle", () => { if (box.open && box.children.length === 1) box.append(difference(detail.context, row.context, row.system)); });
      parts.push(box);
    }
    parts.push(make("details", {}, make("summary", {}, "Metadata"), text(JSON.stringify(row.metadata, null, 2), "Metadata")));
    return make("section", { class: "side", "aria-label": row.system }, parts.filter(part => part !== ""));
  }

  // ---- the words that two texts share
  const LARGEST = 3e7;
  function difference(before, after, system, label = "Context of " + system + " against the original") {
    const left = before.match(/\s*\S+/g) || [], right = after.match(/\s*\S+/g) || [];
    const kept = aligned(left.map(word => word.trim()), right.map(word => word.trim()));
    const box = make("div", { class: "text", tabindex: "0", role: "group", "aria-label": label });
    let i = 0, j = 0, removed = 0;
    const put = (tag, words) => { if (words.length) box.append(tag ? make(tag, {}, words.join("")) : visible(words.join(""))); };
    for (let k = 0; k <= kept.length; k++) {
      const [a, b] = k < kept.length ? kept[k] : [left.length, right.length];
      put("del", left.slice(i, a)); put("ins", right.slice(j, b));
      removed += a - i;
      let end = k;
      while (end + 1 < kept.length && kept[end + 1][0] === kept[end][0] + 1 && kept[end + 1][1] === kept[end][1] + 1) end++;
      if (k < kept.length) { put(null, left.slice(a, kept[end][0] + 1)); i = kept[end][0] + 1; j = kept[end][1] + 1; k = end; }
    }
    const share = left.length ? Math.round(100 * removed / left.length) : 0;
    return make("div", {}, make("p", { class: "note" }, removed + " of " + left.length + " words removed (" + share + " %)"), box);
  }
  function aligned(left, right) {
    let start = 0, m = left.length, n = right.length;
    while (start < m && start < n && left[start] === right[start]) start++;
    while (m > start && n > start && left[m - 1] === right[n - 1]) { m--; n--; }
    const pairs = [];
    for (let k = 0; k < start; k++) pairs.push([k, k]);
    pairs.push(...((m - start) * (n - start) <= LARGEST ? common(left, right, start, m, n) : greedy(left, right, start, m, n)));
    for (let k = 0; m + k < left.length; k++) pairs.push([m + k, n + k]);
    return pairs;
  }
  function common(left, right, start, m, n) {  // longest common subsequence: two rows of lengths, one byte a cell to go back by
    const height = m - start, width = n - start, back = new Uint8Array(height * width), pairs = [];
    let above = new Uint32Array(width + 1), here = new Uint32Array(width + 1);
    for (let i = height - 1; i >= 0; i--) {
      for (let j = width - 1; j >= 0; j--)
        if (left[start + i] === right[start + j]) { here[j] = above[j + 1] + 1; back[i * width + j] = 3; }
        else if (above[j] >= here[j + 1]) { here[j] = above[j]; back[i * width + j] = 1; } else { here[j] = here[j + 1]; back[i * width + j] = 2; }
      [above, here] = [here, above];
    }
    for (let i = 0, j = 0; i < height && j < width;) {
      const way = back[i * width + j];
      if (way === 3) pairs.push([start + i++, start + j++]); else if (way === 1) i++; else j++;
    }
    return pairs;
  }
  function greedy(left, right, start, m, n) {  // very long texts: the next place of each word that is left
    const pairs = [], places = new Map();
    for (let i = m - 1; i >= start; i--) { if (!places.has(left[i])) places.set(left[i], []); places.get(left[i]).push(i); }
    let from = start;
    for (let j = start; j < n; j++) {
      const found = places.get(right[j]);
      while (found && found.length && found[found.length - 1] < from) found.pop();
      if (found && found.length) { pairs.push([found[found.length - 1], j]); from = found.pop() + 1; }
    }
    return pairs;
  }

  // ---- the address: filters, search, order, columns and the opened row stand behind the #
  function remember() {
    if (!isReady) return;
    const state = new URLSearchParams();
    const only = boxes.filter(([, box]) => box.checked).map(([, box]) => box.id.slice(5));
    state.set("only", only.join(","));
    if (wanted.text) state.set("text", wanted.text);
    if (wanted.dataset !== "") state.set("dataset", data.datasets[+wanted.dataset]);
    if (wanted.column) state.set("sort", (wanted.descending ? "-" : "") + wanted.column.name);
    if (hidden.size) state.set("hide", [...hidden].join("\u001f"));
    if (dialog.open && order.length) {
      const i = order[active];
      state.set("row", data.id[i]);
      if (data.datasets.length > 1) state.set("of", data.datasets[data.dataset[i]]);
      if (data.repetition && data.repetition[i]) state.set("repetition", String(data.repetition[i]));
    }
    history.replaceState(null, "", "#rows?" + state);
  }
  function recall() {
    const [, query] = location.hash.split("?");
    if (query === undefined) return false;
    const state = new URLSearchParams(query), only = (state.get("only") || "").split(","), sort = state.get("sort") || "";
    boxes.forEach(([, box]) => { box.checked = only.includes(box.id.slice(5)); });
    search.value = wanted.text = state.get("text") || "";
    const chosen = data.datasets.indexOf(state.get("dataset"));
    dataset.value = wanted.dataset = chosen < 0 ? "" : String(chosen);
    wanted.descending = sort.startsWith("-");
    wanted.column = every.find(column => column.name === sort.replace(/^-/, "")) || null;
    hidden.clear();
    (state.get("hide") || "").split("\u001f").filter(name => every.some(column => column.name === name)).forEach(name => hidden.add(name));
    every.forEach(column => { column.box.checked = !hidden.has(column.name); });
    drawHead();
    restrict();
    document.getElementById("rows").scrollIntoView();
    if (state.get("row") !== null) {
      const repetition = +(state.get("repetition") || 0), of = state.get("of");
      const line = data.id.findIndex((id, i) => String(id) === state.get("row") && (of === null || data.datasets[data.dataset[i]] === of) && (data.repetition ? data.repetition[i] : 0) === repetition);
      if (line >= 0) show(line);
    } else if (dialog.open) shut();
    return true;
  }
  function show(line) {
    if (!order.includes(line)) { boxes.forEach(([, box]) => { box.checked = false; }); search.value = wanted.text = ""; dataset.value = wanted.dataset = ""; restrict(); }
    move(order.indexOf(line));
    open(active);
  }
  window.addEventListener("hashchange", recall);

  // ---- keys of the whole page, and a run that goes on
  document.addEventListener("keydown", event => {
    if (event.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) { event.preventDefault(); search.focus(); }
  });
  const status = document.querySelector("[data-status]");
  if (status && status.classList.contains("warning")) {
    const shownRows = status.textContent;
    const events = new EventSource(status.dataset.status);  // what is ticked, typed and opened stays: only this line changes
    events.addEventListener("status", event => {
      const now = JSON.parse(event.data);
      if (now.sentence !== shownRows.trim())
        status.replaceChildren(visible(now.sentence), " ", make("a", { href: "", onclick: click => { click.preventDefault(); location.reload(); } }, "Show the rows so far"));
      if (now.status !== "running") events.close();
    });
  }
  if (!recall()) restrict();
  isReady = true;

  // ---- a long run: the first lines are here, and what takes all rows is put around them when it is there
  const rest = document.getElementById("rest");
  if (rest) fetch(rest.querySelector("a").href).then(answer => answer.ok ? answer.text() : Promise.reject()).then(text => {
    const page = new DOMParser().parseFromString(text, "text/html"), rows = document.getElementById("rows");
    const told = (from, which) => [...from.querySelectorAll(which)];
    page.getElementById("completeness").replaceWith(document.getElementById("completeness"));
    document.querySelector("header nav").replaceWith(page.querySelector("header nav"));
    told(document, "main > section:not(#rows, #provenance)").forEach(one => one.remove());
    rows.before(...told(page, "main > section:not(#rows, #provenance)"));
    told(rows, ":scope > p, :scope > nav").forEach(one => one.remove());
    place.before(...told(page, "#rows > p, #rows > nav"));
  }).catch(() => rest.append(" They could not be read."));
})();
