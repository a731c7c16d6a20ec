// Running: which definition, its inputs, the engine that computes, what came out.
import {byId, element} from "./dom.js"
import {StoppedError} from "./engines.js"
import {rendered} from "./problems.js"

const RUNNING = "running…"

export class RunPanel {
  /** `ask(request, options)` is the engine's; `program()` the text now. */
  constructor(ask, program) {
    this.ask = ask
    this.program = program
    this.entries = []
    this.inputs = {}
    this.stopper = null
    byId("run").addEventListener("click", () => this.run())
    byId("stop").addEventListener("click", () => this.stopper?.abort())
    byId("entry").addEventListener("change", () => {
      this.wanted = undefined
      this.showFields()
    })
  }

  entry() {
    return byId("entry").value
  }

  /**
   * What the program has to run, which changes as it is edited; inputs are kept by name.  While it has errors, the fields
   * stay as they are, unless the program was just opened and its definitions can be read.
   */
  offer(entries, hasErrors) {
    if (hasErrors && (this.wanted === undefined || !entries.length)) return
    this.entries = entries
    const before = this.wanted ?? this.entry()
    const names = entries.map(e => e.name)
    const chosen = names.includes(before) ? before : names.includes("main") ? "main" : names.at(-1)
    byId("entry").replaceChildren(
      ...names.map(name => element("option", {value: name, selected: name === chosen}, `@${name}`)))
    byId("entry-row").hidden = names.length < 2
    if (!hasErrors) this.wanted = undefined
    this.showFields()
  }

  /** Show the inputs of a shared address or a sample; their types come when the program is checked. */
  prefill(entry, inputs) {
    this.inputs = {...inputs}
    this.wanted = entry || "main"
    const parameters = Object.keys(inputs).map(name => ({name, type: ""}))
    this.offer([{name: this.wanted, parameters}], true)
  }

  showFields() {
    const parameters = this.entries.find(e => e.name === this.entry())?.parameters ?? []
    const key = JSON.stringify(parameters)
    if (key === this.key && !this.refill()) return
    this.key = key
    byId("inputs").replaceChildren(...parameters.map(({name, type}) => {
      const field = element("input", {
        id: `input-${name}`, value: this.inputs[name] ?? "", placeholder: type, autocomplete: "off", spellcheck: "false",
        oninput: () => { this.inputs[name] = field.value },
        onkeydown: event => event.key === "Enter" && this.run(),
      })
      return element("div", {class: "row"}, element("label", {for: `input-${name}`}, `%${name}`), field)
    }))
  }

  /** Whether fields have other values than what is kept. */
  refill() {
    return [...byId("inputs").querySelectorAll("input")].some(f => f.value !== (this.inputs[f.id.slice(6)] ?? ""))
  }

  async run() {
    if (this.stopper) return
    this.stopper = new AbortController()
    const logged = element("pre", {class: "log"})
    const result = element("pre", {class: "value"})
    const says = element("p", {class: "status"}, RUNNING)
    byId("output").replaceChildren(says, logged, result)
    byId("run").disabled = true
    byId("stop").disabled = false
    const log = text => logged.append(text)
    const say = state => { says.textContent = state || RUNNING }
    try {
      const request = {
        ask: "run", program: this.program(), entry: this.entry(), inputs: this.inputs, backend: byId("backend").value,
      }
      const answer = await this.ask(request, {signal: this.stopper.signal, log, say})
      result.classList.toggle("failed", Boolean(answer.diagnostics))
      result.textContent = answer.diagnostics ? rendered(answer.diagnostics) : answer.text
      says.textContent = answer.diagnostics ? "failed" : `done in ${duration(answer.seconds)}`
      if (answer.cut) says.textContent += "; the value is longer than what is shown"
    } catch (error) {
      if (!(error instanceof StoppedError)) throw error
      says.textContent = "stopped"
    } finally {
      this.stopper = null
      byId("run").disabled = false
      byId("stop").disabled = true
    }
  }
}

const duration = seconds => (seconds < 1 ? `${(seconds * 1000).toPrecision(3)} ms` : `${seconds.toPrecision(3)} s`)
