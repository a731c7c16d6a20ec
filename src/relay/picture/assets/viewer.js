// The page: what is open, what is chosen, where one looks, and the source text.
"use strict";

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const model = Picture.model(data);
  const get = id => document.getElementById(id);
  const MOST_AT_ONCE = 60;    // nodes that are open at first
  const MOST_SHOWN = 400;     // nodes that "Open all" stops at
  const MOST_FOUND = 50;
  const LEAST_READABLE = 0.6;  // of its full size
  const MOST_COLOURED = 200000;  // characters of a text that is coloured

  let open = Picture.opened(model, MOST_AT_ONCE);
  let places = new Map(), size = {width: 1, height: 1}, at = {x: 0, y: 0, scale: 1};
  let chosen = null, source = -1;

  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "picture");
  svg.setAttribute("role", "group");
  svg.setAttribute("aria-label", "Nodes and groups");
  get("drawing").append(svg);

  // --- the drawing ---

  function draw() {
    const made = Picture.drawn(model, open);
    places = made.places;
    size = made;
    svg.innerHTML = `${Picture.MARKER}<g id="moved">${made.svg}</g>`;
    move();
    mark();
  }

  function move() {
    get("moved").setAttribute("transform", `translate(${at.x},${at.y}) scale(${at.scale})`);
  }

  function fit() {
    const room = get("drawing").getBoundingClientRect();
    at.scale = Math.min(1.4, Math.max(0.15, Math.min(room.width / size.width, room.height / size.height)));
    at.x = (room.width - size.width * at.scale) / 2;
    at.y = size.height * at.scale < room.height ? (room.height - size.height * at.scale) / 2 : 0;
    move();
  }

  // At first: all, or where that would be too small to read, the beginning of @main.
  function begin() {
    fit();
    const main = model.roots.find(g => model.groups[g].label === "@main") ?? model.roots[0];
    if (at.scale >= LEAST_READABLE || main === undefined) return;
    const place = places.get("g" + main), room = get("drawing").getBoundingClientRect();
    at.scale = Math.min(1, Math.max(LEAST_READABLE, (room.width - 20) / place.width));
    at.x = Math.max(10 - (place.x - place.width / 2) * at.scale, room.width / 2 - place.x * at.scale);
    at.y = 10 - (place.y - place.height / 2) * at.scale;
    move();
  }

  function zoom(factor, x, y) {
    const room = get("drawing").getBoundingClientRect();
    x = x === undefined ? room.width / 2 : x;
    y = y === undefined ? room.height / 2 : y;
    const scale = Math.min(6, Math.max(0.02, at.scale * factor)), ratio = scale / at.scale;
    at = {x: x - (x - at.x) * ratio, y: y - (y - at.y) * ratio, scale};
    move();
  }

  function centre(id) {
    const place = places.get(id), room = get("drawing").getBoundingClientRect();
    if (!place) return;
    if (at.scale < 0.5) at.scale = 0.9;
    const tall = place.open ? Math.min(place.height, room.height / at.scale * 0.8) / 2 - place.height / 2 : 0;
    at.x = room.width / 2 - place.x * at.scale;
    at.y = room.height / 2 - (place.y + tall) * at.scale;
    move();
  }

  // Open or close a group, and keep it where it is on the screen.
  function toggle(g) {
    const id = "g" + g, before = places.get(id);
    const corner = before && {x: before.x - before.width / 2, y: before.y - before.height / 2};
    if (!open.delete(g)) {
      open.add(g);
      // What has only one group inside is opened with it.
      for (let group = model.groups[g]; group.nodes.length === 0 && group.children.length === 1;) {
        open.add(group.children[0]);
        group = model.groups[group.children[0]];
      }
    }
    draw();
    const after = places.get(id);
    if (corner && after) {
      at.x += (corner.x - (after.x - after.width / 2)) * at.scale;
      at.y += (corner.y - (after.y - after.height / 2)) * at.scale;
      move();
    }
    choose(id, {text: false});
  }

  function reveal(group) {
    let isNew = false;
    for (let g = group; g >= 0; g = model.groups[g].parent) {
      isNew = isNew || !open.has(g);
      open.add(g);
    }
    if (isNew) draw();
  }

  // --- what is chosen ---

  function thing(id) {
    const i = Number(id.slice(1));
    return id[0] === "n" ? model.nodes[i] : model.groups[i];
  }

  function choose(id, {text = true, look = false} = {}) {
    chosen = id;
    if (id) {
      const it = thing(id);
      reveal(id[0] === "n" ? it.group : it.parent);
      if (look) centre(id);
      if (it.source >= 0) show(it.source, it.start, it.end, text);
    }
    mark();
    const element = id && svg.querySelector(`[data-id="${id}"]`);
    if (element && document.activeElement !== get("search")) element.focus({preventScroll: true});
    say();
  }

  function mark() {
    svg.querySelectorAll(".chosen, .near").forEach(e => e.classList.remove("chosen", "near"));
    if (!chosen) return;
    svg.querySelector(`[data-id="${chosen}"]`)?.classList.add("chosen");
    svg.querySelectorAll(`[data-from="${chosen}"], [data-to="${chosen}"]`).forEach(e => e.classList.add("near"));
  }

  function say() {
    if (!chosen) {
      const count = (n, word) => `${Picture.grouped(n)} ${word}${n === 1 ? "" : "s"}`;
      get("said").textContent = `${count(model.roots.length, "definition")}, ${count(model.nodes.length, "node")}`;
      return;
    }
    const it = thing(chosen), isNode = chosen[0] === "n";
    const rows = [isNode ? it.label : `${it.label} (${it.kind}, ${Picture.grouped(it.count)} node${it.count === 1 ? "" : "s"})`];
    if (isNode && it.type) rows.push(": " + it.type);
    if (isNode && it.detail) rows.push(it.detail);
    const callees = isNode ? model.calls.filter(([node]) => node === Number(chosen.slice(1))) : [];
    if (callees.length) rows.push("calls " + callees.map(([, g]) => model.groups[g].label).join(", "));
    if (it.seconds) rows.push(Picture.timeText(model, it.seconds));
    if (it.source >= 0) rows.push(`${data.sources[it.source][0]}:${lineOf(it.source, it.start)}`);
    get("said").textContent = rows.join("\n");
  }

  // --- the source text ---

  function lineOf(k, offset) {
    let n = 1;
    for (let i = data.sources[k][1].indexOf("\n"); i >= 0 && i < offset; i = data.sources[k][1].indexOf("\n", i + 1)) n++;
    return n;
  }

  function show(k, start, end, isMoved) {
    if (k !== source) {
      source = k;
      get("source").textContent = data.sources[k][1];
      const count = data.sources[k][1].split("\n").length;
      get("numbers").textContent = count > 50000 ? "" : Array.from({length: count}, (_, i) => i + 1).join("\n");
      document.querySelectorAll("#names button").forEach((b, i) => b.setAttribute("aria-selected", String(i === k)));
      colour();
    }
    const node = get("source").firstChild;
    if (!node || start === undefined) return;
    const range = document.createRange();
    range.setStart(node, Math.min(start, node.length));
    range.setEnd(node, Math.min(end, node.length));
    if (globalThis.CSS && CSS.highlights) CSS.highlights.set("chosen", new Highlight(range));
    else { getSelection().removeAllRanges(); getSelection().addRange(range); }
    if (isMoved) {
      const box = range.getBoundingClientRect(), room = get("text").getBoundingClientRect();
      if (box.top < room.top || box.top > room.bottom - 30) get("text").scrollTop += box.top - room.top - room.height / 3;
      if (box.left < room.left || box.left > room.right - 30) get("text").scrollLeft += box.left - room.left - 60;
    }
  }

  const PIECES = /(?<comment>\/\/[^\n]*)|(?<name>[%@][\w"]+)|(?<string>"(?:\\.|[^"\\\n])*")|(?<number>\b\d[\w.]*)|(?<word>\b(?:and|def|else|extern|fn|if|import|let|match|rec|type|where)\b)/g;

  function colour() {
    if (!(globalThis.CSS && CSS.highlights)) return;
    const text = data.sources[source][1], node = get("source").firstChild, found = {};
    for (const kind of ["comment", "name", "string", "number", "word"]) CSS.highlights.delete(kind);
    if (!node || text.length > MOST_COLOURED) return;
    for (const piece of text.matchAll(PIECES)) {
      const kind = Object.keys(piece.groups).find(k => piece.groups[k] !== undefined), range = document.createRange();
      range.setStart(node, piece.index);
      range.setEnd(node, piece.index + piece[0].length);
      (found[kind] ||= []).push(range);
    }
    for (const [kind, ranges] of Object.entries(found)) CSS.highlights.set(kind, new Highlight(...ranges));
  }

  // The smallest thing whose place in the text covers an offset: a node, or a group where no node does.
  function covering(k, offset) {
    let best = null, length = Infinity;
    const look = (things, letter) => things.forEach((it, i) => {
      if (it.source === k && it.start <= offset && offset <= it.end && it.end - it.start < length) {
        best = letter + i;
        length = it.end - it.start;
      }
    });
    look(model.nodes, "n");
    if (best === null) look(model.groups, "g");
    return best;
  }

  get("source").addEventListener("click", event => {
    const caret = document.caretPositionFromPoint ? document.caretPositionFromPoint(event.clientX, event.clientY)
      : document.caretRangeFromPoint(event.clientX, event.clientY);
    const offset = caret && (caret.offset ?? caret.startOffset);
    const id = offset === null || offset === undefined ? null : covering(source, offset);
    if (id) choose(id, {text: false, look: true});
  });

  // --- search ---

  let previous = "";
  function search() {
    const wanted = get("search").value.trim().toLowerCase(), list = get("found");
    if (wanted === previous) return;
    previous = wanted;
    list.replaceChildren();
    list.hidden = wanted === "";
    if (!wanted) return;
    const found = [];
    const match = (id, text) => { if (found.length <= MOST_FOUND && text.toLowerCase().includes(wanted)) found.push(id); };
    model.groups.forEach((g, i) => { if (g.kind !== "part") match("g" + i, g.label); });
    model.nodes.forEach((n, i) => match("n" + i, `${n.label} ${n.type} ${n.detail}`));
    for (const id of found.slice(0, MOST_FOUND)) {
      const it = thing(id), item = document.createElement("li"), button = document.createElement("button");
      let top = id[0] === "n" ? it.group : Number(id.slice(1));
      while (model.groups[top].parent >= 0) top = model.groups[top].parent;
      button.textContent = `${model.groups[top].label}  ${it.label}${it.type ? " : " + it.type : ""}`;
      button.onclick = () => { list.hidden = true; get("search").blur(); choose(id, {look: true}); };
      item.append(button);
      list.append(item);
    }
    const note = document.createElement("li");
    note.textContent = found.length > MOST_FOUND ? `the first ${MOST_FOUND}` : found.length ? "" : "nothing found";
    list.append(note);
  }

  get("search").addEventListener("input", search);
  get("search").addEventListener("keydown", event => {
    if (event.key === "Enter") get("found").querySelector("button")?.click();
    if (event.key === "ArrowDown") { event.preventDefault(); get("found").querySelector("button")?.focus(); }
  });
  get("found").addEventListener("keydown", event => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key], all = [...get("found").querySelectorAll("button")];
    if (!step) return;
    event.preventDefault();
    all[Math.min(all.length - 1, Math.max(0, all.indexOf(document.activeElement) + step))]?.focus();
  });

  // --- pointer and keys ---

  let drag = null;
  const fingers = new Map();
  svg.addEventListener("pointerdown", event => {
    fingers.set(event.pointerId, event);
    drag = {x: event.clientX - at.x, y: event.clientY - at.y, isMoved: false, from: [event.clientX, event.clientY]};
  });
  svg.addEventListener("pointermove", event => {
    if (!drag || !fingers.has(event.pointerId)) return;
    if (fingers.size === 2) {
      const spread = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); };
      const before = spread();
      fingers.set(event.pointerId, event);
      const room = get("drawing").getBoundingClientRect(), [a, b] = [...fingers.values()];
      zoom(spread() / Math.max(1, before), (a.clientX + b.clientX) / 2 - room.left, (a.clientY + b.clientY) / 2 - room.top);
      drag.isMoved = true;
      return;
    }
    if (!drag.isMoved && Math.hypot(event.clientX - drag.from[0], event.clientY - drag.from[1]) < 4) return;
    if (!drag.isMoved) svg.setPointerCapture(event.pointerId);
    drag.isMoved = true;
    svg.classList.add("moving");
    at.x = event.clientX - drag.x;
    at.y = event.clientY - drag.y;
    move();
  });
  const dropped = event => { fingers.delete(event.pointerId); svg.classList.remove("moving"); };
  svg.addEventListener("pointerup", dropped);
  svg.addEventListener("pointercancel", dropped);
  svg.addEventListener("click", event => {
    const wasMoved = drag && drag.isMoved;
    drag = null;
    const element = event.target.closest("[data-id]");
    if (wasMoved || !element) return;
    const id = element.dataset.id;
    if (id[0] === "g" && element.classList.contains("closed")) toggle(Number(id.slice(1)));
    else choose(id);
  });
  svg.addEventListener("dblclick", event => {
    const element = event.target.closest("[data-id]");
    if (element?.classList.contains("open")) toggle(Number(element.dataset.id.slice(1)));
  });
  svg.addEventListener("wheel", event => {
    event.preventDefault();
    const room = get("drawing").getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), event.clientX - room.left, event.clientY - room.top);
  }, {passive: false});

  function openAll() {
    open = Picture.opened({...model, nodes: []}, MOST_SHOWN);
    draw();
    fit();
  }

  function closeAll() {
    open = new Set();
    chosen = null;
    draw();
    fit();
    say();
  }

  function near(key) {
    // The nearest box in the direction of an arrow.
    const here = chosen && places.get(chosen), way = {ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]}[key];
    if (!here) return [...places.keys()].find(id => !places.get(id).open);
    let best = null, least = Infinity;
    for (const [id, place] of places) {
      const dx = place.x - here.x, dy = place.y - here.y, along = dx * way[0] + dy * way[1], across = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      if (id !== chosen && !place.open && along > 1 && along + 2 * across < least) { best = id; least = along + 2 * across; }
    }
    return best;
  }

  function theme() {
    const isDark = !document.body.classList.contains("dark");
    document.body.classList.toggle("dark", isDark);
    svg.classList.toggle("dark", isDark);
    svg.classList.toggle("light", !isDark);
  }

  function pane() {
    const isAlone = document.body.classList.toggle("alone");
    get("pane").setAttribute("aria-pressed", String(!isAlone));
    fit();
  }

  const KEYS = {"+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": fit, e: openAll, c: closeAll, t: theme, s: pane,
                "/": () => get("search").focus()};
  document.addEventListener("keydown", event => {
    if (event.key === "Escape") {
      get("found").hidden = true;
      if (document.activeElement === get("search")) get("search").blur();
      else choose(null);
      return;
    }
    if (event.target.closest("input, #text, #found") || event.ctrlKey || event.metaKey || event.altKey) return;
    const inside = event.target.closest("#drawing [data-id]");
    if (inside && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      const id = inside.dataset.id;
      if (id[0] === "g") toggle(Number(id.slice(1)));
      else choose(id);
    } else if (event.key.startsWith("Arrow") && !event.target.closest("button")) {
      event.preventDefault();
      const id = near(event.key);
      if (id) choose(id, {look: true});
    } else if (KEYS[event.key]) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });
  svg.addEventListener("focusin", event => {
    const id = event.target.closest("[data-id]")?.dataset.id;
    if (id && id !== chosen && event.target.matches(":focus-visible")) choose(id);
  });

  for (const [id, act] of Object.entries({all: openAll, none: closeAll, in: () => zoom(1.25), out: () => zoom(0.8), fit, theme, pane})) get(id).onclick = act;
  data.sources.forEach(([name], k) => {
    if (data.sources.length < 2) return;
    const button = document.createElement("button");
    button.textContent = name.split("/").pop();
    button.title = name;
    button.setAttribute("role", "tab");
    button.onclick = () => show(k);
    get("names").append(button);
  });
  get("title").textContent = data.name;
  if (matchMedia("(prefers-color-scheme: dark)").matches) theme();
  if (data.sources.length) show(0);
  else pane();
  draw();
  begin();
  say();
  document.addEventListener("choose", event => choose(event.detail, {look: true}));
  addEventListener("resize", fit);
  document.body.dataset.ready = "true";
})();
