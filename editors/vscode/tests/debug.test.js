// Whole sessions of `relay debug`, as package.json starts it, by the client that Microsoft tests adapters with.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const {afterEach, beforeEach, describe, test} = require("node:test");
const {DebugClient} = require("@vscode/debugadapter-testsupport");
const contributes = require("../package.json").contributes;

const PROGRAM = `\
type Layer { Layer { w: Tensor[(2,), float32], b: float32 } }
def @apply(%x: Tensor[(2,), float32], %layer: Layer) {
  let %y = %x * %layer.w;
  sum(%y) + %layer.b
}
def @main(%x: Tensor[(2,), float32]) {
  let %layer = Layer { w: [2.0, 3.0], b: 0.5 };
  let %first = @apply(%x, %layer);
  %first / 0.5
}
`;
const FAULTY = "def @main(%n: int32) {\n  10 / %n\n}\n";
const THREAD = {threadId: 1};
let client, folder;

function written(text) {
  const name = path.join(folder, "program.relay");
  fs.writeFileSync(name, text);
  return name;
}

describe("a session", () => {
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "relay-debug-"));
    const [command, ...args] = contributes.configuration.properties["relay.debugCommand"].default;
    client = new DebugClient(command, args.join(" "), "relay", {shell: true});
    client.defaultTimeout = 30_000;
    await client.start();
  });

  afterEach(async () => {
    await client.stop();
    fs.rmSync(folder, {recursive: true});
  });

  async function variables(reference) {
    const {body} = await client.variablesRequest({variablesReference: reference});
    return new Map(body.variables.map((v) => [v.name, v]));
  }

  test("breakpoints, variables, expressions and steps", async () => {
    const program = written(PROGRAM);
    await client.hitBreakpoint({program, args: ["[1.0, 2.0]"]}, {path: program, line: 4});
    const {body: {stackFrames}} = await client.stackTraceRequest(THREAD);
    assert.deepEqual(stackFrames.map((f) => [f.name, f.line]), [["@apply", 4], ["@main", 8]]);
    const {body: {scopes}} = await client.scopesRequest({frameId: stackFrames[0].id});
    const found = await variables(scopes[0].variablesReference);
    assert.equal(found.get("%y").value, "[2.0, 6.0]");
    const layer = await variables(found.get("%layer").variablesReference);
    assert.deepEqual([layer.get("w").value, layer.get("b").value], ["[2.0, 3.0]", "0.5"]);
    const asked = {expression: "%y / %x", frameId: stackFrames[0].id, context: "repl"};
    assert.equal((await client.evaluateRequest(asked)).body.result, "[2.0, 3.0]");
    await assert.rejects(client.evaluateRequest({...asked, expression: "%z"}), /%z/);

    const out = client.assertStoppedLocation("step", {path: program, line: 9});
    await client.stepOutRequest(THREAD);
    await out;
    const result = client.assertOutput("stdout", "17.0\n");
    const ended = [client.waitForEvent("exited"), client.waitForEvent("terminated"), result];
    await client.continueRequest(THREAD);
    assert.equal((await Promise.all(ended))[0].body.exitCode, 0);
  });

  test("stop at the first line, next, step in, and breakpoints with conditions", async () => {
    const program = written(PROGRAM);
    const entry = client.assertStoppedLocation("entry", {path: program, line: 7});
    const launched = client.launch({program, args: ["[1.0, 2.0]"], stopOnEntry: true});
    await Promise.all([client.configurationSequence(), launched, entry]);
    for (const [how, line] of [["next", 8], ["stepIn", 3]]) {
      const stop = client.assertStoppedLocation("step", {path: program, line});
      await client[`${how}Request`](THREAD);
      await stop;
    }
    const breakpoints = [{line: 4, condition: "sum(%y) > 100.0"}, {line: 9, condition: "%first > 1.0"}];
    await client.setBreakpointsRequest({source: {path: program}, breakpoints});
    const stop = client.assertStoppedLocation("breakpoint", {path: program, line: 9});
    await client.continueRequest(THREAD);
    await stop;
  });

  test("an error stops where it is raised", async () => {
    const program = written(FAULTY);
    const stop = client.assertStoppedLocation("exception", {path: program, line: 2});
    const configured = client.waitForEvent("initialized").then(async () => {
      await client.setExceptionBreakpointsRequest({filters: ["errors"]});
      await client.configurationDoneRequest();
    });
    await Promise.all([configured, client.launch({program, args: ["0"]}), stop]);
    assert.equal((await client.exceptionInfoRequest(THREAD)).body.exceptionId, "divide-by-zero");
  });
});

test("the snippets launch programs", () => {
  for (const {body} of contributes.debuggers[0].configurationSnippets) {
    assert.equal(body.type, "relay");
    const known = Object.keys(contributes.debuggers[0].configurationAttributes.launch.properties);
    assert.deepEqual(Object.keys(body).filter((key) => !["type", "request", "name", ...known].includes(key)), []);
  }
});
