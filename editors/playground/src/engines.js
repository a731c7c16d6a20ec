// Who answers questions: the local server, or Python in a worker of this browser.  Both have `ask(request, {signal, log})`,
// which gives an answer as `relay.playground.answers` describes it; `log` is told what the program writes, as it does, and a
// signal stops what is running.  Both are made with `say`, which is told what the answers wait for.

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
  for (;;) {
    const {done, value} = await reader.read()
    if (done) return
    const lines = (text + decoder.decode(value, {stream: true})).split("\n")
    text = lines.pop()
    for (const line of lines) yield JSON.parse(line)
  }
}

/** `relay playground`, which this page came from. */
export class ServerEngine {
  constructor(say) {
    this.say = say
  }

  async ask(request, {signal, log} = {}) {
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
        if (event.state !== undefined) this.say(event.state)
        if (event.log !== undefined) log?.(event.log)
      }
      return failed("the server ended before it answered", "start `relay playground` again")
    } catch (error) {
      this.say("")
      if (error.name === "AbortError") throw new StoppedError()
      return failed("the server does not answer", "start `relay playground` again")
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
    this.waiting = new Map()
    this.count = 0
  }

  ask(request, {signal, log} = {}) {
    if (signal?.aborted) return Promise.reject(new StoppedError())
    const worker = (this.worker ??= this.started())
    const id = ++this.count
    return new Promise((resolve, reject) => {
      this.waiting.set(id, {resolve, reject, log})
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
    if (state !== undefined) return this.say(state)
    if (failure !== undefined) return this.fail(failure)
    const one = this.waiting.get(id)
    if (log !== undefined) return one?.log?.(log)
    this.waiting.delete(id)
    one?.resolve(answer)
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
    this.say("")
  }
}
