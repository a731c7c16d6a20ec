// The part of a profile's page above the drawing: a flame graph, memory over time, and tables.
"use strict";

(() => {
  const profile = JSON.parse(document.getElementById("data").textContent).profile;
  const get = id => document.getElementById(id), {escape, time, cut} = Picture;
  const HEIGHT = 20, WIDTH = 1000, CHARACTER = 6.7;
  const bytes = n => n < 1000 ? n + " B" : n >= 1e5 ? (n / 1e6).toFixed(1) + " MB" : (n / 1e3).toFixed(1) + " kB";
  const share = seconds => `${time(seconds)}, ${(100 * seconds / profile.seconds).toFixed(1)} %`;

  // The call, its definitions, their lines, and what is computed there; beside them the rest.
  function tree() {
    const root = {label: "@" + profile.name, kind: "whole", seconds: profile.seconds, below: new Map(), note: ""};
    const under = (around, key, made) => {
      if (!around.below.has(key)) around.below.set(key, {seconds: 0, below: new Map(), note: "", ...made});
      return around.below.get(key);
    };
    profile.spent.forEach(([label, definition, place, calls, seconds, note, node], i) => {
      const a = under(root, "d" + definition, {label: definition ? "@" + definition : "elsewhere", kind: "definition"});
      const b = under(a, place, {label: place || "elsewhere", kind: "line"});
      const c = under(b, i, {label, kind: "work", node, note: [`${calls} call${calls === 1 ? "" : "s"}`, note].filter(Boolean).join(", ")});
      for (const it of [a, b, c]) it.seconds += seconds;
    });
    profile.outside.forEach(([label, seconds], i) => {
      const rest = under(root, "rest", {label: "outside of groups", kind: "rest"});
      rest.seconds += seconds;
      under(rest, i, {label, kind: "rest"}).seconds += seconds;
    });
    return root;
  }

  const whole = tree();
  let shown = whole;

  function flame() {
    const parts = [], rows = [], scale = WIDTH / Math.max(1e-12, shown.seconds);
    const pending = [[shown, 0, 0]];
    while (pending.length) {
      const [it, x, depth] = pending.pop(), width = it.seconds * scale;
      if (width < 0.4) continue;
      it.number = rows.push(it) - 1;
      const said = [it.label, share(it.seconds), it.note].filter(Boolean).join(", ");
      const room = Math.floor((width - 8) / CHARACTER * (get("flame").clientWidth || WIDTH) / WIDTH);
      parts.push(`<g class="${it.kind}" tabindex="0" role="button" data-row="${it.number}" aria-label="${escape(said)}"><title>${escape(said)}</title>` +
        `<rect x="${(x / 10).toFixed(3)}%" y="${depth * HEIGHT}" width="${(width / 10).toFixed(3)}%" height="${HEIGHT - 1}" rx="2"/>` +
        (room > 2 ? `<text x="${(x / 10).toFixed(3)}%" dx="4" y="${depth * HEIGHT + 14}">${escape(cut(it.label, room))}</text>` : "") + "</g>");
      let left = x;
      for (const below of [...it.below.values()].sort((a, b) => b.seconds - a.seconds)) {
        pending.push([below, left, depth + 1]);
        left += below.seconds * scale;
      }
    }
    const zoomed = shown === whole ? "" : '<button id="back">Whole call</button>';
    get("flame").innerHTML = `${zoomed}<svg height="${4 * HEIGHT + 2}">${parts.join("")}</svg>`;
    const act = element => {
      const it = rows[Number(element.dataset.row)];
      if (it.node >= 0) document.dispatchEvent(new CustomEvent("choose", {detail: "n" + it.node}));
      else if (it !== shown && it.below.size) { shown = it; flame(); }
    };
    get("flame").querySelectorAll("g").forEach(g => {
      g.onclick = () => act(g);
      g.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); act(g); } };
    });
    if (zoomed) get("back").onclick = () => { shown = whole; flame(); };
  }

  function memory() {
    const points = profile.memory, most = Math.max(profile.peak, ...points.map(p => p[1]), 1);
    const peak = bytes(profile.peak) + (profile.peakIn ? `, while in ${profile.peakIn}` : "");
    get("memory").setAttribute("aria-label", `Memory over time, at most ${peak}`);
    const end = points.length ? Math.max(points[points.length - 1][0], 1e-12) : 1;
    let path = "M0,100";
    let level = 100;
    for (const [seconds, n] of points) {
      const x = (1000 * seconds / end).toFixed(1);
      path += `L${x},${level}`;
      level = (100 - 92 * n / most).toFixed(1);
      path += `L${x},${level}`;
    }
    const titles = points.length > 400 ? "" : points.map(([seconds, n, label], i) => {
      const x = 1000 * seconds / end, next = i + 1 < points.length ? 1000 * points[i + 1][0] / end : 1000;
      return `<rect x="${x.toFixed(1)}" y="0" width="${Math.max(2, next - x).toFixed(1)}" height="100" fill="transparent"><title>${escape(`${bytes(n)} after ${label}`)}</title></rect>`;
    }).join("");
    get("memory").innerHTML = `<svg><svg viewBox="0 0 1000 100" preserveAspectRatio="none">${points.length ? `<path class="area" d="${path}L1000,${level}L1000,100Z"/>` : ""}${titles}</svg>` +
      `<text x="4" y="12">memory, at most ${escape(peak)}</text></svg>`;
  }

  function tables() {
    const row = cells => `<tr>${cells.map(c => `<td>${escape(c)}</td>`).join("")}</tr>`;
    const table = (caption, rows) => rows.length ? `<table><caption>${escape(caption)}</caption><tbody>${rows.map(row).join("")}</tbody></table>` : "";
    get("tables").innerHTML =
      table("Time", profile.spent.slice(0, 50).map(([label, , place, , seconds, note]) => [share(seconds), label, place, note])) +
      table("Time outside of groups", profile.outside.map(([label, seconds]) => [share(seconds), label])) +
      table("Most memory while in", profile.definitions.map(([name, n]) => [bytes(n), "@" + name])) +
      table("Largest tensors alive at the peak", profile.tensors.slice(0, 20).map(([n, label, place]) => [bytes(n), label, place]));
  }

  flame();
  memory();
  tables();
  addEventListener("resize", flame);
})();
