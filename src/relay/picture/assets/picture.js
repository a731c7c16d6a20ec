// From the data of a program to a drawing: which nodes and groups are to be seen, where dagre puts them, and the
// SVG of that.  It needs no document: the page and `relay view --svg` (in QuickJS) draw with the same code.
"use strict";

const Picture = (() => {
  const CHARACTER = 6.7, EDGE_CHARACTER = 5.5;  // pixels a character, of the fonts of picture.css
  const LINE = 15, PADDING = 9, NAME = 22, GAP = 18, MOST_IN_A_ROW = 6;

  // Groups with what is inside of them.
  function model(data) {
    const groups = data.groups.map(([label, kind, parent, source, start, end]) =>
      ({label, kind, parent, source, start, end, children: [], nodes: [], count: 0, operators: 0, seconds: 0}));
    const nodes = data.nodes.map(([label, kind, group, type, source, start, end, detail, seconds]) =>
      ({label, kind, group, type: data.types[type], source, start, end, detail: detail || "", seconds}));
    nodes.forEach((node, i) => {
      const group = groups[node.group];
      group.nodes.push(i);
      group.count += 1;
      group.operators += node.kind === "operator" || node.kind === "call" ? 1 : 0;
      group.seconds += node.seconds || 0;
    });
    for (let i = groups.length - 1; i >= 0; i--) {  // what is around a group has a smaller number
      const around = groups[groups[i].parent];
      if (around === undefined) continue;
      around.children.unshift(i);
      around.count += groups[i].count;
      around.operators += groups[i].operators;
      around.seconds += groups[i].seconds;
    }
    const seconds = data.seconds || 0;
    return {groups, nodes, edges: data.edges, types: data.types, calls: data.calls, seconds,
            roots: groups.flatMap((group, i) => group.parent < 0 ? [i] : [])};
  }

  // The groups that are open at first: as many as show at most so many nodes, the first ones first.
  function opened(model, limit) {
    const open = new Set();
    let shown = model.roots.length, level = model.roots;
    if (model.nodes.length > limit && model.roots.length > 1) return open;
    while (level.length) {
      const below = [];
      for (const g of level) {
        const group = model.groups[g], more = group.nodes.length + group.children.length;
        if (shown + more - 1 > limit) continue;
        open.add(g);
        shown += more - 1;
        below.push(...group.children);
      }
      level = below;
    }
    return open;
  }

  // What is seen when these groups are open: for each group that is inside of a closed one, that closed one.
  function seen(model, open) {
    const {groups, nodes} = model, closed = new Array(groups.length).fill(-1), shown = [];
    groups.forEach((group, g) => {
      const around = group.parent;
      const outer = around < 0 ? -1 : closed[around];
      closed[g] = outer >= 0 ? outer : open.has(g) && group.count > 0 ? -1 : g;
      if (outer < 0) shown.push(g);
    });
    const at = i => closed[nodes[i].group] < 0 ? "n" + i : "g" + closed[nodes[i].group];
    return {closed, shown, at, nodes: nodes.flatMap((node, i) => closed[node.group] < 0 ? [i] : [])};
  }

  // The edges between what is seen; several between the same two are one.
  function edgesSeen(model, view) {
    const found = new Map();
    for (const [start, end, type, label] of model.edges) {
      const a = view.at(start), b = view.at(end);
      if (a === b) continue;
      const key = a + " " + b, known = found.get(key);
      const text = (label ? label + " " : "") + model.types[type];
      if (known === undefined) found.set(key, {a, b, texts: new Set([text]), starts: new Set([start])});
      else { known.texts.add(text); known.starts.add(start); }
    }
    for (const [node, group] of model.calls) {
      const a = view.at(node), b = view.closed[group];
      if (b < 0 || a === "g" + b) continue;
      const key = a + " g" + b + " calls";
      if (!found.has(key)) found.set(key, {a, b: "g" + b, texts: new Set(["calls"]), isCall: true});
    }
    return [...found.values()];
  }

  const cut = (text, limit) => text.length <= limit ? text : text.slice(0, limit - 1) + "…";

  const grouped = n => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

  function time(seconds) {
    if (seconds >= 1) return seconds.toPrecision(3) + " s";
    if (seconds >= 1e-3) return (seconds * 1e3).toPrecision(3) + " ms";
    return (seconds * 1e6).toPrecision(3) + " µs";
  }

  function timeText(model, seconds) {
    return seconds ? `${time(seconds)}, ${(100 * seconds / model.seconds).toFixed(1)} %` : "";
  }

  // The lines of text in a node, or in a group that is closed.
  function lines(model, id) {
    const i = Number(id.slice(1));
    if (id[0] === "n") {
      const node = model.nodes[i];
      return [node.label, node.detail, timeText(model, node.seconds)].filter(Boolean);
    }
    const group = model.groups[i];
    const count = group.operators || group.count, word = group.operators ? "operation" : "node";
    return [cut(group.label, 40), `${grouped(count)} ${word}${count === 1 ? "" : "s"}`, timeText(model, group.seconds)].filter(Boolean);
  }

  // Where everything is: each open definition by itself, the closed ones with the calls between them, in rows.
  function placed(model, open) {
    const view = seen(model, open), edges = edgesSeen(model, view), root = [];
    model.groups.forEach((group, g) => root.push(group.parent < 0 ? g : root[group.parent]));
    const pieceOf = id => {
      const top = root[id[0] === "n" ? model.nodes[Number(id.slice(1))].group : Number(id.slice(1))];
      return view.closed[top] === top ? "closed" : top;
    };
    const pieces = new Map();
    const piece = id => {
      const key = pieceOf(id);
      if (!pieces.has(key)) pieces.set(key, newGraph());
      return pieces.get(key);
    };
    for (const g of view.shown) addGroup(piece("g" + g), model, view, g);
    for (const i of view.nodes) addNode(piece("n" + i), model, i);
    edges.forEach((edge, i) => {
      if (pieceOf(edge.a) === pieceOf(edge.b)) addEdge(piece(edge.a), edge, i);
    });
    const calls = pieces.get("closed");
    if (calls && calls.nodeCount() > MOST_IN_A_ROW) calls.graph().rankdir = "LR";
    for (const graph of pieces.values()) {
      dagre.layout(graph);
      makeRoom(graph);
    }
    return inRows([...pieces.values()]);
  }

  function newGraph() {
    const graph = new dagre.graphlib.Graph({compound: true, multigraph: true});
    graph.setGraph({rankdir: "TB", nodesep: 22, edgesep: 10, ranksep: 26});
    return graph;
  }

  function addBox(graph, model, id) {
    const texts = lines(model, id), widest = Math.max(...texts.map(t => t.length));
    graph.setNode(id, {texts, width: widest * CHARACTER + 2 * PADDING, height: texts.length * LINE + PADDING});
  }

  function addGroup(graph, model, view, g) {
    if (view.closed[g] === g) addBox(graph, model, "g" + g);
    else graph.setNode("g" + g, {open: true});
    if (model.groups[g].parent >= 0) graph.setParent("g" + g, "g" + model.groups[g].parent);
  }

  function addNode(graph, model, i) {
    addBox(graph, model, "n" + i);
    graph.setParent("n" + i, "g" + model.nodes[i].group);
  }

  function addEdge(graph, edge, i) {
    const texts = [...edge.texts];
    const text = edge.isCall ? "" : texts.length === 1 ? cut(texts[0], 30)
      : edge.starts.size > 1 ? edge.starts.size + " values" : cut(texts[0], 24) + " …";
    graph.setEdge(edge.a, edge.b, {text, all: texts.join("; "), isCall: edge.isCall === true, labelpos: "c",
      width: text ? text.length * EDGE_CHARACTER + 6 : 0, height: text ? 13 : 0}, String(i));
  }

  // Let the name of an open group stand above what is in it.
  function makeRoom(graph) {
    const depth = new Map(), ids = graph.nodes().filter(id => graph.node(id).open);
    const depthOf = id => {
      const way = [];
      while (id !== undefined && !depth.has(id)) { way.push(id); id = graph.parent(id); }
      let n = id === undefined ? 0 : depth.get(id);
      while (way.length) depth.set(way.pop(), ++n);
      return n;
    };
    for (const id of ids.sort((a, b) => depthOf(b) - depthOf(a))) {
      const at = graph.node(id), top = at.y - at.height / 2;
      const highest = Math.min(...graph.children(id).map(c => graph.node(c).y - graph.node(c).height / 2));
      const more = Math.max(0, top - (highest - NAME));
      at.y -= more / 2;
      at.height += more;
    }
  }

  // Drawings side by side, in rows of about the same width.
  function inRows(graphs) {
    const boxes = graphs.map(graph => {
      const all = graph.nodes().map(id => graph.node(id));
      const left = Math.min(0, ...all.map(n => n.x - n.width / 2)), top = Math.min(0, ...all.map(n => n.y - n.height / 2));
      const bottom = Math.max(...all.map(n => n.y + n.height / 2)), right = Math.max(graph.graph().width || 0, ...all.map(n => n.x + n.width / 2));
      return {graph, left, top, width: right - left, height: bottom - top};
    });
    const area = boxes.reduce((sum, b) => sum + (b.width + GAP) * (b.height + GAP), 0);
    const widest = Math.max(0, Math.sqrt(area) * 1.15, ...boxes.map(b => b.width));
    let x = GAP, y = GAP, tall = 0, right = 0;
    for (const b of boxes) {
      if (x > GAP && x + b.width > widest + GAP) { x = GAP; y += tall + GAP; tall = 0; }
      shift(b.graph, x - b.left, y - b.top);
      x += b.width + GAP;
      tall = Math.max(tall, b.height);
      right = Math.max(right, x);
    }
    return {graphs, width: Math.max(right, 40), height: y + tall + GAP};
  }

  function shift(graph, x, y) {
    for (const id of graph.nodes()) { graph.node(id).x += x; graph.node(id).y += y; }
    for (const e of graph.edges()) {
      const edge = graph.edge(e);
      for (const point of edge.points) { point.x += x; point.y += y; }
      if (edge.x !== undefined) { edge.x += x; edge.y += y; }
    }
  }

  const escape = text => String(text).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
  const round = x => Math.round(x * 10) / 10;

  function heat(model, seconds) {
    if (!model.seconds || !seconds) return "";
    return ` style="--heat:${Math.max(8, Math.round(100 * Math.sqrt(Math.min(1, seconds / model.seconds))))}%"`;
  }

  function line(points) {
    // Curves through the middles between the points of a line.
    const [first, ...rest] = points;
    let path = `M${round(first.x)},${round(first.y)}`;
    for (let i = 0; i < rest.length - 1; i++) {
      const x = (rest[i].x + rest[i + 1].x) / 2, y = (rest[i].y + rest[i + 1].y) / 2;
      path += `Q${round(rest[i].x)},${round(rest[i].y)} ${round(x)},${round(y)}`;
    }
    const last = rest[rest.length - 1];
    return path + `L${round(last.x)},${round(last.y)}`;
  }

  function box(model, id, at) {
    const i = Number(id.slice(1)), isGroup = id[0] === "g";
    const thing = isGroup ? model.groups[i] : model.nodes[i];
    const x = round(at.x - at.width / 2), y = round(at.y - at.height / 2);
    const size = `x="${x}" y="${y}" width="${round(at.width)}" height="${round(at.height)}"`;
    const said = isGroup ? `${thing.label}, a ${thing.kind}, ${at.open ? "open" : "closed"}`
      : `${thing.label}, ${thing.type || thing.kind}`;
    const role = ` tabindex="0" role="button" data-id="${id}" aria-label="${escape(said)}"`;
    if (at.open) {
      return `<g class="group ${thing.kind} open"${role} aria-expanded="true"><rect ${size} rx="6"/>` +
        `<text x="${x + 8}" y="${y + 14}">${escape(cut(thing.label, Math.max(8, Math.floor(at.width / CHARACTER) - 3)))}</text></g>`;
    }
    const head = `<g class="${isGroup ? "group closed" : "node"} ${thing.kind}"${role}` +
      `${isGroup ? ' aria-expanded="false"' : ""}${heat(model, thing.seconds)}>`;
    const texts = at.texts.map((text, k) =>
      `<text class="line${k}" x="${round(at.x)}" y="${round(y + PADDING / 2 + 11 + k * LINE)}">${escape(text)}</text>`);
    return `${head}<title>${escape(said)}</title><rect ${size} rx="${thing.kind === "result" || thing.kind === "parameter" ? 12 : 4}"/>${texts.join("")}</g>`;
  }

  // The inside of an SVG, its size in pixels, and where each thing is.
  function drawn(model, open) {
    const {graphs, width, height} = placed(model, open), parts = [], places = new Map();
    for (const graph of graphs) {
      const ids = graph.nodes(), groups = ids.filter(id => graph.node(id).open);
      ids.forEach(id => places.set(id, graph.node(id)));
      groups.sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));  // those around others first
      for (const id of groups) parts.push(box(model, id, graph.node(id)));
      for (const e of graph.edges()) parts.push(arrow(e, graph.edge(e)));
      for (const id of ids) if (!graph.node(id).open) parts.push(box(model, id, graph.node(id)));
    }
    return {svg: parts.join("\n"), width: round(width), height: round(height), places};
  }

  function arrow(e, edge) {
    const text = edge.text ? `<text x="${round(edge.x)}" y="${round(edge.y + 4)}">${escape(edge.text)}</text>` : "";
    return `<g class="edge${edge.isCall ? " calls" : ""}" data-from="${e.v}" data-to="${e.w}">` +
      `<title>${escape(edge.all)}</title><path d="${line(edge.points)}" marker-end="url(#arrow)"/>${text}</g>`;
  }

  const MARKER = '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" ' +
    'orient="auto-start-reverse"><path d="M0,0L8,4L0,8z"/></marker></defs>';

  // A whole SVG file, with the groups open that show at most so many nodes.
  function file(data, style, limit) {
    const made = model(data), {svg, width, height} = drawn(made, opened(made, limit));
    return `<svg xmlns="http://www.w3.org/2000/svg" class="picture" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(data.name)}"><style>${style}</style>` +
      `${MARKER}<rect class="paper" width="100%" height="100%"/>\n${svg}\n</svg>\n`;
  }

  return {model, opened, seen, drawn, file, time, timeText, grouped, escape, cut, MARKER};
})();
