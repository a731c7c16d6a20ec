// The program before and after passes: side by side where there is room, else in one column.
import {MergeView, unifiedMergeView} from "@codemirror/merge"
import {EditorView} from "@codemirror/view"
import {byId, columns, element} from "./dom.js"
import {coloured, reading} from "./editor.js"
import {rendered} from "./problems.js"

const WIDE = "(min-width: 60rem)"
const collapseUnchanged = {margin: 3, minSize: 6}

const BEFORE = "Before the passes", AFTER = "After the passes"

const compared = (parent, before, after) => {
  if (matchMedia(WIDE).matches) {
    const a = {doc: before, extensions: reading(BEFORE)}
    new MergeView({parent, a, b: {doc: after, extensions: reading(AFTER)}, collapseUnchanged})
    return
  }
  const merge = unifiedMergeView({original: before, mergeControls: false, collapseUnchanged})
  new EditorView({parent, doc: after, extensions: [reading("What the passes changed"), merge]})
}

export class PassesPanel {
  constructor(ask, program) {
    this.ask = ask
    this.program = program
    byId("pipeline-form").addEventListener("submit", event => {
      event.preventDefault()
      this.show()
    })
    matchMedia(WIDE).addEventListener("change", () => this.show())
  }

  offer(passes) {
    byId("add-pass").append(...passes.map(p => element("option", {value: p.name, title: p.summary}, p.name)))
    byId("add-pass").addEventListener("change", event => {
      const field = byId("pipeline")
      field.value = [field.value.trim(), event.target.value].filter(Boolean).join(",")
      event.target.selectedIndex = 0
      this.show()
    })
  }

  pipeline() {
    return byId("pipeline").value.trim()
  }

  async show() {
    const request = {ask: "passes", program: this.program(), pipeline: this.pipeline(), width: columns(byId("comparison"), matchMedia(WIDE).matches ? 2 : 1)}
    const key = JSON.stringify(request)
    if (key === this.key) return
    this.key = key
    const answer = await this.ask(request)
    if (key !== this.key) return
    this.answer = answer
    this.draw()
  }

  draw() {
    const target = byId("comparison")
    target.replaceChildren()
    if (!this.answer) return
    const {diagnostics, before, after} = this.answer
    if (diagnostics) target.append(element("pre", {class: "failed", tabindex: "0"}, rendered(diagnostics)))
    else if (before === after) target.append(element("p", {class: "empty"}, "The passes change nothing."), coloured(after, AFTER))
    else compared(target, before, after)
  }
}
