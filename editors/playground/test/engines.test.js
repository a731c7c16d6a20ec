import assert from "node:assert/strict"
import {afterEach, test} from "node:test"
import {BrowserEngine, ServerEngine, StoppedError} from "../src/engines.js"

/** A worker that answers when told to. */
class StandIn {
  sent = []
  isTerminated = false
  postMessage(message) { this.sent.push(message) }
  terminate() { this.isTerminated = true }
  reply(data) { this.onmessage({data}) }
}

const engineOf = () => {
  const workers = []
  const said = []
  const start = () => (workers.push(new StandIn()), workers.at(-1))
  return {engine: new BrowserEngine(start, text => said.push(text)), workers, said}
}

test("Python in the browser is started when it is first asked, once", async () => {
  const {engine, workers, said} = engineOf()
  assert.equal(workers.length, 0)
  const log = []
  const first = engine.ask({ask: "run"}, {log: text => log.push(text)})
  const second = engine.ask({ask: "check"}, {say: text => log.push(text)})
  assert.equal(workers.length, 1)
  const [worker] = workers
  worker.reply({state: "loading Python…"})
  worker.reply({id: worker.sent[1].id, answer: {diagnostics: []}})
  worker.reply({id: worker.sent[0].id, log: "at 1\n"})
  worker.reply({id: worker.sent[0].id, answer: {text: "3"}})
  assert.deepEqual([await first, await second, log], [{text: "3"}, {diagnostics: []}, ["loading Python…", "at 1\n"]])
  assert.deepEqual(said, ["loading Python…"])
})

test("what is running is stopped with its worker, and the next question starts another", async () => {
  const {engine, workers} = engineOf()
  const stopper = new AbortController()
  const running = engine.ask({ask: "run"}, {signal: stopper.signal})
  stopper.abort()
  await assert.rejects(running, StoppedError)
  assert.ok(workers[0].isTerminated)
  const next = engine.ask({ask: "run"})
  workers[1].reply({id: workers[1].sent[0].id, answer: {text: "4"}})
  assert.deepEqual(await next, {text: "4"})
  await assert.rejects(engine.ask({ask: "run"}, {signal: stopper.signal}), StoppedError)
})

test("a worker that fails answers all that wait, with what to do", async () => {
  const {engine, workers} = engineOf()
  const asked = [engine.ask({ask: "run"}), engine.ask({ask: "check"})]
  workers[0].reply({failure: "no network"})
  for (const {diagnostics: [one]} of await Promise.all(asked)) {
    assert.match(one.rendered, /no network[\s\S]*hint: /)
  }
  const again = engine.ask({ask: "run"})
  workers[1].onerror({message: "not found"})
  assert.match((await again).diagnostics[0].message, /not found/)
})

const {fetch} = globalThis
afterEach(() => { globalThis.fetch = fetch })

/** A response in lines of JSON, whose bytes come in pieces of any size. */
const responseOf = (events, size) => {
  const bytes = new TextEncoder().encode(events.map(event => JSON.stringify(event) + "\n").join(""))
  const pieces = Array.from({length: Math.ceil(bytes.length / size)}, (_, i) => bytes.slice(i * size, (i + 1) * size))
  return new Response(ReadableStream.from(pieces))
}

test("the server is asked in JSON, and what it refuses is said", async () => {
  const asked = []
  globalThis.fetch = async (url, options) => (asked.push([url, options]), responseOf([{answer: {text: "3"}}], 100))
  const engine = new ServerEngine(() => {})
  assert.deepEqual(await engine.ask({ask: "run", program: "1 + 2"}), {text: "3"})
  assert.equal(asked[0][1].headers["content-type"], "application/json")
  assert.deepEqual(JSON.parse(asked[0][1].body), {ask: "run", program: "1 + 2"})
  globalThis.fetch = async () => new Response("too long\n", {status: 413})
  assert.match((await engine.ask({})).diagnostics[0].message, /refused: too long/)
  globalThis.fetch = async () => { throw new TypeError("failed to fetch") }
  assert.match((await engine.ask({})).diagnostics[0].message, /does not answer/)
  globalThis.fetch = async () => responseOf([{log: "at 1\n"}], 100)
  assert.match((await engine.ask({})).diagnostics[0].message, /ended before it answered/)
})

test("what happens before the answer of the server is told in turn", async () => {
  const events = [{state: "starting Python…"}, {state: ""}, {log: "größer 😀\n"}, {log: "at 2\n"}, {answer: {text: "3"}}]
  for (const size of [1, 7, 1000]) {
    globalThis.fetch = async () => responseOf(events, size)
    const told = []
    const engine = new ServerEngine(text => told.push(text))
    assert.deepEqual(await engine.ask({ask: "run"}, {log: text => told.push(text)}), {text: "3"})
    assert.deepEqual(told, ["starting Python…", "", "größer 😀\n", "at 2\n"])
  }
})

test("only the question that waits is told so, and the page when none does any more", async () => {
  const cut = [responseOf([{state: "starting Python…"}], 7), responseOf([{answer: {text: "3"}}], 100)]
  globalThis.fetch = async () => cut.shift()
  const said = {page: [], check: [], run: []}
  const engine = new ServerEngine(text => said.page.push(text))
  await Promise.all(["check", "run"].map(ask => engine.ask({ask}, {say: text => said[ask].push(text)})))
  assert.deepEqual(said, {page: ["starting Python…", ""], check: ["starting Python…", ""], run: []})
})

test("the rest of a response is given up after the answer", async () => {
  let isCancelled = false
  globalThis.fetch = async () => new Response(new ReadableStream({
    start: controller => controller.enqueue(new TextEncoder().encode('{"answer": {"text": "3"}}\n')),
    cancel() { isCancelled = true },
  }))
  assert.deepEqual(await new ServerEngine(() => {}).ask({}), {text: "3"})
  assert.ok(isCancelled)
})

test("a text is told before the program ends, and stays when it is stopped", async () => {
  const stopper = new AbortController()
  globalThis.fetch = async (url, {signal}) => new Response(new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"log": "at 1\\n"}\n'))
      signal.addEventListener("abort", () => controller.error(signal.reason))
    },
  }))
  const told = []
  const log = text => { told.push(text); stopper.abort() }
  await assert.rejects(new ServerEngine(() => {}).ask({}, {signal: stopper.signal, log}), StoppedError)
  assert.deepEqual(told, ["at 1\n"])
})

test("a question to the server is stopped by its signal", async () => {
  globalThis.fetch = (url, {signal}) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new DOMException("stopped", "AbortError")))
  })
  const stopper = new AbortController()
  const running = new ServerEngine(() => {}).ask({}, {signal: stopper.signal})
  stopper.abort()
  await assert.rejects(running, StoppedError)
})
