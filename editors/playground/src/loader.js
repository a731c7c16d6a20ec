// Relay in Pyodide: Python compiled to WebAssembly, its packages, and this package as a zip file.

export const PYODIDE = "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/"
/** What Relay's interpreter imports beside the standard library. */
export const PACKAGES = ["numpy", "ml-dtypes", "click"]
const FOLDER = "/relay"

/**
 * A function from a request and a receiver of what programs write to an answer.
 *
 * `importModule` imports the module at an address, `fetchArchive` gives the bytes of the zip file, and `say` is told what
 * is being loaded.
 */
export const load = async ({importModule, fetchArchive, say, indexURL = PYODIDE}) => {
  say("loading Python…")
  const {loadPyodide} = await importModule(`${indexURL}pyodide.mjs`)
  const [pyodide, archive] = await Promise.all([loadPyodide({indexURL}), fetchArchive()])
  say("loading NumPy…")
  await pyodide.loadPackage(PACKAGES)
  say("loading Relay…")
  pyodide.unpackArchive(archive, "zip", {extractDir: FOLDER})
  pyodide.runPython(`import sys; sys.path.insert(0, "${FOLDER}")`)
  const browser = pyodide.pyimport("relay.playground.in_browser")
  say("")
  return (request, log) => JSON.parse(browser.answer_text(JSON.stringify(request), log))
}
