import assert from "node:assert/strict"
import {execFileSync} from "node:child_process"
import {mkdtempSync, mkdirSync, readFileSync, writeFileSync} from "node:fs"
import {createRequire} from "node:module"
import {tmpdir} from "node:os"
import {dirname, join} from "node:path"
import {test} from "node:test"
import {PACKAGES, PYODIDE, load} from "../src/loader.js"

const core = dirname(createRequire(import.meta.url).resolve("pyodide/package.json"))

/** A stand-in for Pyodide, which writes down what is asked of it. */
const standIn = answerText => {
  const asked = []
  const pyodide = {
    loadPackage: async names => asked.push(["load", ...names]),
    unpackArchive: (data, kind, {extractDir}) => asked.push(["unpack", data.byteLength, kind, extractDir]),
    runPython: code => asked.push(["run", code]),
    pyimport: name => (asked.push(["import", name]), {answer_text: answerText}),
  }
  const importModule = async url => (asked.push(["module", url]), {
    loadPyodide: async ({indexURL}) => (asked.push(["start", indexURL]), pyodide),
  })
  return {asked, importModule}
}

test("Python, its packages and Relay are loaded in turn", async () => {
  const {asked, importModule} = standIn((request, log) => {
    log("written\n")
    return JSON.stringify({text: JSON.parse(request).program})
  })
  const said = []
  const fetchArchive = async () => new ArrayBuffer(3)
  const answer = await load({importModule, fetchArchive, say: text => said.push(text)})
  assert.deepEqual(asked, [
    ["module", `${PYODIDE}pyodide.mjs`],
    ["start", PYODIDE],
    ["load", ...PACKAGES],
    ["unpack", 3, "zip", "/relay"],
    ["run", 'import sys; sys.path.insert(0, "/relay")'],
    ["import", "relay.playground.in_browser"],
  ])
  assert.deepEqual(said, ["loading Python…", "loading NumPy…", "loading Relay…", ""])
  const log = []
  assert.deepEqual(answer({ask: "run", program: "1"}, text => log.push(text)), {text: "1"})
  assert.deepEqual(log, ["written\n"])
})

test("a network that fails is an error", async () => {
  const importModule = async () => { throw new Error("no network") }
  await assert.rejects(load({importModule, fetchArchive: async () => new ArrayBuffer(0), say() {}}), /no network/)
})

test("the packages are in the distribution of this version of Pyodide", () => {
  const {version} = JSON.parse(readFileSync(join(core, "package.json"), "utf8"))
  assert.ok(PYODIDE.includes(`/v${version}/`), version)
  const {packages} = JSON.parse(readFileSync(join(core, "pyodide-lock.json"), "utf8"))
  for (const name of PACKAGES) assert.ok(packages[name], name)
})

/** A zip file that has, in the place of Relay, a module that answers without NumPy. */
const archiveOf = source => {
  const folder = mkdtempSync(join(tmpdir(), "relay-"))
  mkdirSync(join(folder, "relay", "playground"), {recursive: true})
  writeFileSync(join(folder, "relay", "__init__.py"), "")
  writeFileSync(join(folder, "relay", "playground", "__init__.py"), "")
  writeFileSync(join(folder, "relay", "playground", "in_browser.py"), source)
  execFileSync("python3", ["-c", "import shutil; shutil.make_archive('relay', 'zip', '.', 'relay')"], {cwd: folder})
  const data = readFileSync(join(folder, "relay.zip"))
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength)
}

test("Pyodide itself takes the archive, and answers; its packages are stood in for", {timeout: 120_000}, async () => {
  const {loadPyodide} = await import("pyodide")
  const loaded = []
  const importModule = async () => ({
    loadPyodide: async () => {
      const pyodide = await loadPyodide({indexURL: core})
      pyodide.loadPackage = async names => loaded.push(...names)
      return pyodide
    },
  })
  const source = `
import json, sys
def answer_text(request, log):
    log("from Python\\n")
    return json.dumps({"text": json.loads(request)["program"] + " 😀", "version": sys.version_info[:2]})
`
  const answer = await load({importModule, fetchArchive: async () => archiveOf(source), say() {}})
  const log = []
  const found = answer({ask: "run", program: "größer"}, text => log.push(text))
  assert.equal(found.text, "größer 😀")
  assert.ok(found.version[1] >= 11)
  assert.deepEqual(log, ["from Python\n"])
  assert.deepEqual(loaded, PACKAGES)
})
