import assert from "node:assert/strict"
import {test} from "node:test"
import {EditorState} from "@codemirror/state"
import {ensureSyntaxTree, foldable, getIndentation} from "@codemirror/language"
import {highlightTree, tagHighlighter, tags as t} from "@lezer/highlight"
import {relay, relayLanguage} from "../src/language.js"

const {parser} = relayLanguage
const stateOf = doc => EditorState.create({doc, extensions: [relay()]})

/** The indentation of each line, in columns, as it would be put there. */
const indentation = doc => {
  const state = stateOf(doc)
  return [...Array(state.doc.lines).keys()].map(i => getIndentation(state, state.doc.line(i + 1).from))
}

/** What is folded at the beginning of the line that has a text. */
const folded = (doc, at) => {
  const state = stateOf(doc)
  const line = state.doc.lineAt(doc.indexOf(at))
  const range = foldable(state, line.from, line.to)
  return range && doc.slice(range.from, range.to)
}

const colours = (text, wanted) => {
  const found = []
  const highlighter = tagHighlighter(wanted.map(([tag, name]) => ({tag, class: name})))
  highlightTree(parser.parse(text), highlighter, (from, to, name) => found.push([text.slice(from, to), name]))
  return found
}

const topLevel = text => {
  const names = []
  for (let node = parser.parse(text).topNode.firstChild; node; node = node.nextSibling) names.push(node.name)
  return names
}

test("programs are indented as `relay fmt` does", () => {
  const program = `def @f(%x: float32) -> float32 {
  let %y = if (%x > 0.0) {
    %x
  } else {
    -%x
  };
  match (%y) {
    0.0 => { 1.0 },
    _ => %y,
  }
}
type Shape {
  Circle(float32),
}`
  const expected = program.split("\n").map(line => line.length - line.trimStart().length)
  assert.deepEqual(indentation(program), expected)
})

test("a call over several lines is indented inside", () => {
  assert.deepEqual(indentation("nn.dense(\n%x,\n%w\n)"), [0, 2, 2, 0])
})

test("blocks, lists and comments fold", () => {
  assert.equal(folded("def @f() {\n  1\n}", "def"), "\n  1\n")
  assert.equal(folded("let %x = [\n  1,\n];\n%x", "let"), "\n  1,\n")
  assert.equal(folded("/* one\n two */ 3", "one"), " one\n two ")
})

test("names have colours by what they are", () => {
  const wanted = [[t.definition(t.function(t.variableName)), "definition"], [t.function(t.name), "call"],
                  [t.propertyName, "attribute"], [t.definitionKeyword, "keyword"],
                  [t.typeName, "type"], [t.standard(t.typeName), "dtype"]]
  assert.deepEqual(colours("def @f(%x: float32) { let %a: List[int32] = sum(%x, axis=0); type }", wanted), [
    ["def", "keyword"], ["@f", "definition"], ["float32", "dtype"], ["let", "keyword"], ["List", "type"], ["int32", "dtype"],
    ["sum", "call"], ["axis", "attribute"],
  ])
})

test("words are keywords only before what they govern", () => {
  assert.deepEqual(topLevel("type Pair { Pair(int32, int32) }\ndata D {}"), ["TypeDefinition", "TypeDefinition"])
  assert.deepEqual(topLevel('import "std/list"\nattributes @f { a: 1 }'), ["Import", "Attributes"])
  assert.deepEqual(topLevel("where(%c, %a, %b)"), ["Run"])
  assert.deepEqual(topLevel("free_var %x: float32;\n%x"), ["FreeVariable", "Semicolon", "Run"])
})

test("the dialect decides what a name is", () => {
  const names = text => {
    const found = []
    parser.parse(text).iterate({
      enter: node => {
        if (node.name === "LocalName") found.push(text.slice(node.from, node.to))
      },
    })
    return found
  }
  assert.deepEqual(names("%a/b.c"), ["%a"])
  assert.deepEqual(names('#[version = "0.0.5"]\n%a/b.c + %d.0.w.0'), ["%a/b.c", "%d.0.w"])
})

test("definitions behind a fault are found", () => {
  for (const wrong of ["def @f(%x { %x }", "def (", "let = 3;", "def @f() { ((( }", "match", "type = {"]) {
    const text = `${wrong}\ndef @good(%x: float32) { %x }\ndef @better() { 1 }\n`
    assert.ok(topLevel(text).filter(name => name === "Definition").length >= 1, wrong)
  }
})

// Milliseconds: a busy machine parses in more than the default of 50.
const PATIENCE = 60_000

test("a change is parsed as the whole text would be", () => {
  const lines = Array.from({length: 500}, (_, i) => `def @f${i}(%x: float32) { %x/%y + ${i}.0 }`)
  const state = stateOf(lines.join("\n"))
  ensureSyntaxTree(state, state.doc.length, PATIENCE)
  for (const insert of ['#[version = "0.0.5"]\n', "/*", "}", "let %a = 3;"]) {
    const changed = state.update({changes: {from: 0, insert}}).state
    const tree = ensureSyntaxTree(changed, changed.doc.length, PATIENCE)
    assert.equal(String(tree), String(parser.parse(changed.doc.toString())))
  }
})
