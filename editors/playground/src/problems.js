import {element} from "./dom.js"

/** The list of what is wrong with the program: a line leads to its place, a button does what a hint says. */
export const showProblems = (parent, diagnostics, editor) => {
  const items = diagnostics.map(d =>
    element("li", {class: d.severity},
      element("button", {type: "button", class: "place", onclick: () => editor.select(d.from, d.to)},
        element("span", {class: "code-name"}, `${d.severity}[${d.code}]`),
        ` line ${d.line ?? "?"}: ${d.message}`),
      d.label ? element("p", {}, d.label) : "",
      d.hint ? element("p", {}, `hint: ${d.hint}`) : "",
      ...d.fixes.map(fix =>
        element("button", {type: "button", class: "fix", onclick: () => editor.apply(fix)}, fix.title)),
    ))
  const list = element("ul", {class: "problems"}, ...items)
  parent.replaceChildren(items.length ? list : element("p", {class: "empty"}, "No problems."))
}

/** The diagnostics of an answer, as a terminal shows them. */
export const rendered = diagnostics => diagnostics.map(d => d.rendered).join("\n\n")
