// The tokens that a regular expression cannot cut: names with a sigil, whose form is a matter of the dialect, strings,
// and words that are keywords only before certain tokens.
import {ContextTracker, ExternalTokenizer} from "@lezer/lr"
import * as terms from "./parser.terms.js"

/** Whether the text is of the strict dialect, which has paths as names and line breaks in strings. */
export const dialect = new ContextTracker({
  start: false,
  shift: (strict, term) => strict || term === terms.StrictVersion,
  hash: strict => (strict ? 1 : 0),
})

const PERCENT = 37, AT = 64, QUOTE = 34, BACKSLASH = 92, NEWLINE = 10, END = -1
const DOT = 46, SLASH = 47, STAR = 42, COLON = 58

const isDigit = c => c >= 48 && c <= 57
const isStart = c => (c >= 65 && c <= 90) || (c >= 97 && c <= 122) || c === 95
const isWord = c => isStart(c) || isDigit(c)
const isBlank = c => c === 32 || (c >= 9 && c <= 13) || c === 0xfeff

// A comment between `/*` and its end, which nests; one that is not closed ends with the text.
export const comments = new ExternalTokenizer(input => {
  if (input.next !== SLASH || input.peek(1) !== STAR) return
  let depth = 0
  while (input.next !== END) {
    const next = input.peek(1)
    if (input.next === SLASH && next === STAR) depth++
    else if (input.next === STAR && next === SLASH) depth--
    else {
      input.advance()
      continue
    }
    input.advance(2)
    if (depth === 0) break
  }
  input.acceptToken(terms.BlockComment)
})

export const names = new ExternalTokenizer((input, stack) => {
  const strict = stack.context
  if (input.next === QUOTE) return string(input, strict, terms.String)
  const sigil = input.next
  if (sigil !== PERCENT && sigil !== AT) return
  const token = sigil === PERCENT ? terms.LocalName : terms.GlobalName
  const next = input.peek(1)
  if (next === QUOTE) {
    input.advance()
    string(input, strict, token)
  } else if (isStart(next)) {
    input.advance()
    word(input)
    while (strict && path(input));
    input.acceptToken(token)
  } else if (sigil === PERCENT && isDigit(next)) {
    do input.advance()
    while (isDigit(input.next))
    input.acceptToken(terms.GraphName)
  }
})

const word = input => {
  while (isWord(input.next)) input.advance()
}

/** A further part of a path: `/0`, `::bias`, `.0.weight`; what ends in `.0` is a field of a tuple. */
const path = input => {
  const after = input.peek(1)
  if (input.next === SLASH && after !== SLASH && after !== STAR) input.advance()
  else if (input.next === COLON && after === COLON) input.advance(2)
  else {
    let ahead = 0
    while (input.peek(ahead) === DOT && isDigit(input.peek(ahead + 1))) {
      do ahead++
      while (isDigit(input.peek(ahead)))
    }
    if (input.peek(ahead) !== DOT || !isStart(input.peek(ahead + 1))) return false
    input.advance(ahead + 1)
  }
  word(input)
  return true
}

/** A string, or a quoted name, from its quote on; one that is not closed ends with its line. */
const string = (input, strict, token) => {
  for (;;) {
    const c = input.advance()
    if (c === QUOTE) return input.acceptToken(token, 1)
    if (c === END || (c === NEWLINE && !strict)) return input.acceptToken(token)
    if (c === BACKSLASH && input.peek(1) !== END && (strict || input.peek(1) !== NEWLINE)) input.advance()
  }
}

const name = c => isStart(c)
const defined = c => isStart(c) || c === AT
const local = c => c === PERCENT
const bound = c => isStart(c) || c === PERCENT
const brace = c => c === 123
const pattern = c => isWord(c) || [PERCENT, QUOTE, 40, 45, 91].includes(c)

/** What has to stand behind a word for it to be a keyword, and whether it has to be apart from it. */
const WORDS = new Map([
  ["type", [terms.typeWord, defined, true]],
  ["data", [terms.typeWord, defined, true]],
  ["extern", [terms.externWord, name, true]],
  ["import", [terms.importWord, c => c === QUOTE, false]],
  ["attributes", [terms.attributesWord, c => c === AT || brace(c), false]],
  ["options", [terms.optionsWord, brace, false]],
  ["free_var", [terms.freeWord, local, false]],
  ["rec", [terms.recWord, bound, true]],
  ["and", [terms.andWord, bound, true]],
  ["where", [terms.whereWord, name, true]],
  ["as", [terms.asWord, local, false]],
  ["case", [terms.caseWord, pattern, true]],
])
const LONGEST = Math.max(...[...WORDS.keys()].map(w => w.length))

export const words = new ExternalTokenizer((input, stack) => {
  let text = ""
  for (let i = 0; i <= LONGEST && isWord(input.peek(i)); i++) text += String.fromCharCode(input.peek(i))
  const found = WORDS.get(text)
  if (!found || input.peek(text.length) === DOT || !stack.canShift(found[0])) return
  const [token, follows, apart] = found
  let ahead = text.length
  while (isBlank(input.peek(ahead))) ahead++
  if (follows(input.peek(ahead)) && (ahead > text.length || !apart)) input.acceptToken(token, text.length)
})

const DTYPE = /^(?:bool|string|u?int(?:2|4|8|16|32|64)|float(?:16|32|64)|bfloat16|float[468]_\w+)$/
const BOOLEANS = new Set(["True", "False", "None"])

/** What a bare name looks like: types and constructors begin with a capital letter. */
export const nameKind = text =>
  BOOLEANS.has(text) ? terms.Boolean : DTYPE.test(text) ? terms.DType : /^[A-Z]/.test(text) ? terms.TypeName : -1
