// Texts in, a JSON array on standard input; out, for each, its tokens as `[from, to]` in code points, and the places of
// its error nodes.
import {parser} from "../src/parser.js"

const NO_TOKENS = new Set(["LineComment", "BlockComment", "StrictVersion", "VersionAttribute", "Metadata"])

const dump = text => {
  const tree = parser.parse(text)
  const tokens = []
  const errors = []
  tree.iterate({
    enter(node) {
      if (node.type.isError) errors.push(node.from)
      else if (!node.node.firstChild && node.to > node.from && !NO_TOKENS.has(node.name)) {
        tokens.push([node.from, node.to])
      }
    },
  })
  return {tokens: tokens.map(([from, to]) => [points(text, from), points(text, to)]), errors}
}

const points = (text, units) => (/[\ud800-\udfff]/.test(text) ? [...text.slice(0, units)].length : units)

let input = ""
process.stdin.setEncoding("utf8")
for await (const chunk of process.stdin) input += chunk
process.stdout.write(JSON.stringify(JSON.parse(input).map(dump)))
