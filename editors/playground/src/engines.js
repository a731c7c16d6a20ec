// Who answers questions: the local server, or Python in a worker of this browser.  Both have
// `ask(request, {signal, log, say})`, which gives an answer as `relay.playground.answers` describes it; `log` is told what the
// program writes, as it does, `say` what this answer waits for ("" if nothing), and a signal stops what is running.  Both are
// made with a `say` for the page, which is told what any answer waits for.

export class StoppedError extends Error {}

/** A diagnostic that the page itself has to say. */
const failed = (message, hint) => ({
  diagnostics: [{
    severity: "error", code: "", message, hint, label: "", line: null,
    rendered: `error: ${message}\n  = hint: ${hint}`,
  }],
})

/** The lines of a stream of bytes, each of which is JSON, as they come. */
async function* eventsOf(stream) {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ""
  try {
    for (;;) {
      const {done, value} = await reader.read()
      if (done) return
      const lines = (text + decoder.decode(value, {stream: true})).split("\n")
      text = lines.pop()
      for (const line of lines) yield JSON.parse(line)
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** `relay playground`, which this page came from. */
export class ServerEngine {
  constructor(say) {
    this.say = say
  }

  async ask(request, {signal, log, say} = {}) {
    let state = ""
    const tell = text => {
      if (text === state) return
      state = text
      this.say(text)
      say?.(text)
    }
    try {
      const response = await fetch("ask", {
        method: "POST",
        headers: {"content-type": "application/json"},
        body: JSON.stringify(request),
        signal,
      })
      if (!response.ok) return failed(`the server refused: ${(await response.text()).trim()}`, "reload the page")
      for await (const event of eventsOf(response.body)) {
        if (event.answer !== undefined) return event.answer
        if (event.state !== undefined) tell(event.state)
        if (event.log !== undefined) log?.(event.log)
      }
      return failed("the server ended before it answered", "start `relay playground` again")
    } catch (error) {
      if (error.name === "AbortError") throw new StoppedError()
      return failed("the server does not answer", "start `relay playground` again")
    } finally {
      tell("")
    }
  }

  close() {}
}

/** Python in this browser.  It is started when first asked, and anew after it was stopped. */
export class BrowserEngine {
  /** `start` makes the worker; `say` is told what is loaded. */
  constructor(start, say) {
    this.start = start
    this.say = say
    this.worker = null
    this.state = ""
    this.waiting = new Map()
    this.count = 0
  }

  ask(request, {signal, log, say} = {}) {
    if (signal?.aborted) return Promise.reject(new StoppedError())
    const worker = (this.worker ??= this.started())
    const id = ++this.count
    return new Promise((resolve, reject) => {
      this.waiting.set(id, {resolve, reject, log, say})
      if (this.state) say?.(this.state)
      signal?.addEventListener("abort", () => this.waiting.has(id) && this.stop())
      worker.postMessage({id, request})
    })
  }

  started() {
    const worker = this.start()
    worker.onmessage = ({data}) => this.received(data)
    worker.onerror = event => {
      event.preventDefault?.()
      this.fail(event.message || "it could not be started")
    }
    return worker
  }

  received({id, answer, log, state, failure}) {
    if (state !== undefined) return this.tell(state)
    if (failure !== undefined) return this.fail(failure)
    const one = this.waiting.get(id)
    if (log !== undefined) return one?.log?.(log)
    this.waiting.delete(id)
    one?.resolve(answer)
  }

  /** Say what all that are asked wait for: Python, which is loaded. */
  tell(state) {
    this.state = state
    this.say(state)
    for (const {say} of this.waiting.values()) say?.(state)
  }

  /** Answer all that wait with a fault; the next question starts Python again. */
  fail(why) {
    this.close()
    const hint = "it needs the network once; the server's engine needs none"
    for (const {resolve} of this.taken()) resolve(failed(`Python in the browser failed: ${why}`, hint))
  }

  stop() {
    this.close()
    for (const {reject} of this.taken()) reject(new StoppedError())
  }

  taken() {
    const all = [...this.waiting.values()]
    this.waiting.clear()
    return all
  }

  close() {
    this.worker?.terminate()
    this.worker = null
    this.tell("")
  }
}
