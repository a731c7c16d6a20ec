import assert from "node:assert/strict"
import {test} from "node:test"
import {fragmentOf, sharedIn} from "../src/share.js"

const SHARED = {program: 'def @main() { "größer 😀" }\n', entry: "main", inputs: {x: "[1.0]"}, pipeline: "dead_code"}

test("what is shared comes back", async () => {
  assert.deepEqual(await sharedIn(await fragmentOf(SHARED)), SHARED)
})

test("a program of many lines has a short address", async () => {
  const program = "def @main(%x: float32) { %x + 1.0 }\n".repeat(500)
  const fragment = await fragmentOf({...SHARED, program})
  assert.ok(fragment.length < 500, String(fragment.length))
  assert.match(fragment, /^#1:[A-Za-z0-9_-]+$/)
})

test("fields that are missing or of another kind are left out", async () => {
  const fragment = await fragmentOf({program: "1", inputs: {x: 3, y: "4"}})
  assert.deepEqual(await sharedIn(fragment), {program: "1", entry: "", inputs: {y: "4"}, pipeline: ""})
  assert.equal(await sharedIn(await fragmentOf({program: 3})), null)
  assert.equal(await sharedIn(await fragmentOf(null)), null)
})

test("what is no address of ours, or broken, is none", async () => {
  const whole = await fragmentOf(SHARED)
  for (const fragment of ["", "#", "#run", "#1:", "#1:%%%", "#1:AAAA", whole.slice(0, -8), "#2:" + whole.slice(3)]) {
    assert.equal(await sharedIn(fragment), null, fragment)
  }
})

test("a short address that stands for gigabytes is refused", async () => {
  assert.equal(await sharedIn(await fragmentOf({program: " ".repeat(5_000_000)})), null)
})
