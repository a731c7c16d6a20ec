// The page of `relay playground`: an editor, and what is known of the program in it.
import {byId, columns, element} from "./dom.js"
import {coloured, makeEditor} from "./editor.js"
import {BrowserEngine, ServerEngine} from "./engines.js"
import {GraphPanel} from "./graph.js"
import {PassesPanel} from "./passes.js"
import {rendered, showProblems} from "./problems.js"
import {RunPanel} from "./run.js"
import {fragmentOf, sharedIn} from "./share.js"
import {makeTabs} from "./tabs.js"
import {themeButton} from "./theme.js"

const CHECK_AFTER_MS = 200
const DEFAULT_PIPELINE = "optimize"

const startWorker = () => new Worker(new URL("engine.js", import.meta.url), {type: "module"})
const say = text => { byId("engine-state").textContent = text }
const makers = {server: () => new ServerEngine(say), browser: () => new BrowserEngine(startWorker, say)}
let engine = makers.server()
const ask = (request, options) => engine.ask(request, options)

const editor = makeEditor({parent: byId("editor"), doc: "", ask, onChange: () => changed(), onRun: () => startRun()})
const running = new RunPanel(ask, editor.text)
const passes = new PassesPanel(ask, editor.text)
const graph = new GraphPanel(ask, editor.text)
const shown = {types: showTypes, passes: () => passes.show(), graph: () => graph.show()}
const tabs = makeTabs(byId("tabs"), name => shown[name]?.())
let samples = []
let checkedText = null
let lastAnswer = null
let timer = null
let isChecking = false

function changed() {
  byId("samples").selectedIndex = samples.findIndex(s => s.program === editor.text()) + 1
  clearTimeout(timer)
  timer = setTimeout(check, CHECK_AFTER_MS)
}

/** Check the text; one question at a time, and again if the text has changed meanwhile. */
async function check() {
  if (isChecking) return
  isChecking = true
  const text = editor.text()
  try {
    const answer = await ask({ask: "check", program: text})
    if (text === editor.text()) accept(text, answer)
    else changed()
  } finally {
    isChecking = false
  }
}

function accept(text, answer) {
  checkedText = text
  if (!answer.entries) {
    byId("problems").replaceChildren(element("pre", {class: "failed"}, rendered(answer.diagnostics)))
    byId("check-state").textContent = "not checked"
    document.body.dataset.checked = "failed"
    return
  }
  lastAnswer = answer
  editor.show(answer, byId("inlays").checked)
  showProblems(byId("problems"), answer.diagnostics, editor)
  const count = answer.diagnostics.length
  byId("problem-count").textContent = count ? `(${count})` : ""
  byId("check-state").textContent = count ? `${count} problem${count === 1 ? "" : "s"}` : "no problems"
  document.body.dataset.checked = String(count)
  running.offer(answer.entries, answer.diagnostics.some(d => d.severity === "error"))
  shown[tabs.shown()]?.()
}

async function showTypes() {
  const text = editor.text()
  const answer = await ask({ask: "types", program: text, width: columns(byId("typed"))})
  if (text !== editor.text()) return
  const made = answer.text === undefined
    ? element("pre", {class: "failed", tabindex: "0"}, rendered(answer.diagnostics))
    : coloured(answer.text, "The program with its types")
  byId("typed").replaceChildren(made)
}

function startRun() {
  tabs.show("run")
  running.run()
}

/** Put a program on the page; it is checked, and runs only when somebody says so. */
function open({program, entry = "", inputs = {}, pipeline}) {
  running.prefill(entry, inputs)
  byId("pipeline").value = pipeline || DEFAULT_PIPELINE
  byId("output").replaceChildren()
  editor.replace(program)
}

async function share() {
  const fragment = await fragmentOf({
    program: editor.text(), entry: running.entry(), inputs: running.inputs, pipeline: passes.pipeline(),
  })
  history.replaceState(null, "", fragment)
  try {
    await navigator.clipboard.writeText(location.href)
    announce("The address is copied: it has the program in it.")
  } catch {
    announce("The address of this page has the program in it now: copy it.")
  }
}

async function format() {
  const text = editor.text()
  const answer = await ask({ask: "format", program: text})
  if (text !== editor.text()) return
  if (answer.text === undefined) announce("It is formatted when it has no errors.")
  else if (answer.text !== text) editor.replace(answer.text)
}

function announce(text) {
  byId("announcement").textContent = text
  setTimeout(() => { byId("announcement").textContent = "" }, 6000)
}

async function openFragment() {
  const found = await sharedIn(location.hash)
  if (found) open(found)
  else if (location.hash) announce("This address has no program that can be read.")
  return Boolean(found)
}

byId("share").addEventListener("click", share)
byId("format").addEventListener("click", format)
byId("inlays").addEventListener("change", () => lastAnswer && editor.show(lastAnswer, byId("inlays").checked))
byId("samples").addEventListener("change", event => {
  const sample = samples[event.target.selectedIndex - 1]
  if (!sample) return
  history.replaceState(null, "", location.pathname)
  open(sample)
})
byId("engine").addEventListener("change", event => {
  engine.close()
  engine = makers[event.target.value]()
  byId("backend").disabled = event.target.value === "browser"
  check()
})
addEventListener("hashchange", openFragment)
themeButton(byId("theme"))
tabs.show("run")

const about = await ask({ask: "about"})
samples = about.samples ?? []
byId("samples").append(...samples.map(s => element("option", {value: s.name}, s.title)))
byId("version").textContent = about.version ?? ""
passes.offer(about.passes ?? [])
if (!about.version) announce(about.diagnostics[0].message)
if (!(await openFragment()) && !editor.text()) open(samples[0] ?? {program: "1 + 2\n"})
document.body.dataset.ready = "true"
