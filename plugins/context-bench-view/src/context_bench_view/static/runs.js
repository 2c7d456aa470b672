"use strict";
// The list of runs: cells change in place while runs go on, so what is ticked and typed stays; what is ticked stands behind the #.
(() => {
  const home = document.body.dataset.home, rows = [...document.querySelectorAll("tr[data-run]")];
  const boxes = [...document.querySelectorAll("input[name=run]")], fresh = document.getElementById("fresh");
  const ticked = () => [...new Set(boxes.filter(box => box.checked).map(box => box.value))];
  const recall = () => { const chosen = new URLSearchParams(location.hash.slice(1)).getAll("run"); boxes.forEach(box => { box.checked = chosen.includes(box.value); }); };
  boxes.forEach(box => box.addEventListener("change", () => {
    boxes.filter(one => one.value === box.value).forEach(one => { one.checked = box.checked; });
    history.replaceState(null, "", "#" + new URLSearchParams(ticked().map(name => ["run", name])));
  }));
  if (location.hash.length > 1) recall();
  window.addEventListener("hashchange", recall);
  const put = run => {
    for (const row of rows.filter(one => one.dataset.run === run.name))
      for (const cell of row.querySelectorAll("[data-cell]"))
        if (cell.textContent !== run[cell.dataset.cell]) cell.textContent = run[cell.dataset.cell];
  };
  const events = new EventSource(home + "events");
  events.addEventListener("runs", event => {
    const { runs } = JSON.parse(event.data);
    runs.forEach(put);
    const known = +document.body.dataset.total, more = runs.length - known;
    if (more > 0) {
      const link = document.createElement("a");
      link.href = location.pathname + location.search + location.hash;
      link.textContent = more + (more === 1 ? " new run" : " new runs") + ": show";
      link.addEventListener("click", click => { click.preventDefault(); location.reload(); });
      fresh.replaceChildren(link);
    }
  });
  const tags = document.getElementById("tags"), said = document.getElementById("tagged");
  document.getElementById("set-tags").addEventListener("click", async () => {
    const names = ticked(), list = tags.value.split(",").map(tag => tag.trim()).filter(Boolean);
    if (!names.length) { said.textContent = "Tick a run first."; return; }
    for (const name of names) {
      const answer = await fetch(home + "run/" + encodeURIComponent(name) + "/notes", { method: "POST",
        headers: { "content-type": "application/json" }, body: JSON.stringify({ tags: list, who: "" }) }).catch(() => null);
      if (!answer || !answer.ok) { said.textContent = answer ? await answer.text() : "The server does not answer; nothing is stored."; return; }
      rows.filter(one => one.dataset.run === name).forEach(row => { row.querySelector("[data-cell=tags]").textContent = list.join(", "); });
    }
    said.textContent = names.length === 1 ? "1 run tagged" : names.length + " runs tagged";
  });
})();
