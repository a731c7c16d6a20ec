// Bundles the page's scripts into the package, with the licences of what is in them.  `--check` compares instead: what is
// committed has to be what these sources give.
import {readFileSync, writeFileSync} from "node:fs"
import {dirname, join} from "node:path"
import {fileURLToPath} from "node:url"
import {build} from "esbuild"

const here = dirname(fileURLToPath(import.meta.url))
const target = join(here, "../../src/relay/playground/static")

/** Packages that the grammar's sources import, too: there is to be one of each. */
const SHARED = ["@codemirror/language", "@lezer/highlight", "@lezer/lr"]

const {outputFiles, metafile} = await build({
  absWorkingDir: here,
  entryPoints: {playground: "src/main.js", engine: "src/engine.js"},
  alias: Object.fromEntries(SHARED.map(name => [name, join(here, "node_modules", name)])),
  outdir: target,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  metafile: true,
  write: false,
})

/** The packages that a bundle has something of, with their licences. */
const licences = () => {
  const folders = new Set()
  for (const path of Object.keys(metafile.inputs)) {
    const found = path.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//)
    if (found) folders.add(found[1])
  }
  const texts = [...folders].sort().map(folder => {
    const {name, version, license} = JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"))
    const text = readFileSync(join(here, folder, "LICENSE"), "utf8").trim()
    return `${name} ${version} (${license})\n\n${text}\n`
  })
  return `playground.js contains parts of these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`
}

const files = outputFiles.map(file => [file.path, file.text])
files.push([join(target, "LICENSES.txt"), licences()])
const stale = []
for (const [path, text] of files) {
  if (!process.argv.includes("--check")) writeFileSync(path, text)
  else if (readFileSync(path, "utf8") !== text) stale.push(path)
}
if (stale.length) {
  console.error(`not what the sources give: ${stale.join(", ")}\nnpm run build writes them`)
  process.exit(1)
}
for (const [path, text] of files) console.log(`${path.slice(target.length + 1)}: ${(text.length / 1024).toFixed(0)} KiB`)
