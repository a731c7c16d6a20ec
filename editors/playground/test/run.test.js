import assert from "node:assert/strict"
import {beforeEach, test} from "node:test"
import {StoppedError} from "../src/engines.js"
import {RunPanel} from "../src/run.js"

/** As much of an element of a page as the panel needs. */
class Element {
  children = []
  classes = new Set()
  classList = {toggle: (name, isThere) => this.classes[isThere ? "add" : "delete"](name)}
  handlers = {}
  value = ""
  addEventListener(name, handler) { this.handlers[name] = handler }
  setAttribute(name, value) {
    this[name] = value
    if (name === "selected") this.isSelected = true
  }
  append(...children) { this.children.push(...children) }
  replaceChildren(...children) {
    this.children = children
    this.value = children.find(c => c.isSelected)?.value ?? ""
  }
  querySelectorAll() { return this.children.flatMap(c => c.children).filter(c => c.id?.startsWith("input-")) }
  get text() { return this.textContent ?? this.children.map(c => c.text ?? c).join("") }
}

let elements

beforeEach(() => {
  elements = new Map()
  globalThis.document = {
    createElement: () => new Element(),
    getElementById: id => elements.get(id) ?? elements.set(id, new Element()).get(id),
  }
})

const fields = () => Object.fromEntries(elements.get("inputs").querySelectorAll().map(f => [f.id.slice(6), f.value]))
const entry = (...names) => ({name: "main", parameters: names.map(name => ({name, type: "int32"}))})

test("what is opened replaces the inputs at once, also of a program with errors", () => {
  const panel = new RunPanel(null, () => "")
  panel.offer([entry("x", "k")], false)
  const [x] = elements.get("inputs").querySelectorAll()
  x.value = "7"
  x.handlers.input()
  panel.offer([entry("x", "k", "l")], false)
  assert.deepEqual(fields(), {x: "7", k: "", l: ""})

  panel.prefill("", {n: "27", x: "1"})
  assert.deepEqual(fields(), {n: "27", x: "1"})
  panel.offer([entry("n", "x", "b")], true)
  assert.deepEqual(fields(), {n: "27", x: "1", b: ""})
  panel.offer([entry("n", "x")], false)
  panel.offer([entry()], true)
  assert.deepEqual(fields(), {n: "27", x: "1"})

  panel.prefill("main", {})
  assert.deepEqual(fields(), {})
})

test("an error of syntax leaves the inputs of what is opened, and checks leave the definition that is chosen", () => {
  const panel = new RunPanel(null, () => "")
  panel.prefill("", {x: "1"})
  panel.offer([], true)
  assert.deepEqual([fields(), panel.entry()], [{x: "1"}, "main"])

  const other = {name: "other", parameters: []}
  panel.offer([entry("x"), other], true)
  elements.get("entry").value = "other"
  elements.get("entry").handlers.change()
  panel.offer([entry("x"), other], true)
  assert.equal(panel.entry(), "other")
  panel.offer([entry("x"), other], false)
  assert.equal(panel.entry(), "other")
})

test("what a program writes is shown as it does, and stays when it is stopped", async () => {
  const ask = async (request, {log, say}) => {
    say("starting Python…")
    assert.match(elements.get("output").text, /^starting Python…/)
    say("")
    log("at 1\n")
    assert.equal(elements.get("output").text, "running…at 1\n")
    throw new StoppedError()
  }
  const panel = new RunPanel(ask, () => "1")
  await panel.run()
  assert.equal(elements.get("output").text, "stoppedat 1\n")
})
