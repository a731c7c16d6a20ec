// Relay for CodeMirror 6: colours, folding, indentation, comments and brackets.
import {
  LRLanguage, LanguageSupport, continuedIndent, delimitedIndent, foldInside, foldNodeProp, indentNodeProp,
} from "@codemirror/language"
import {parser} from "./parser.js"

/** Folds what is between the first line of a comment and its end. */
const foldComment = node => (node.to - node.from > 4 ? {from: node.from + 2, to: node.to - 2} : null)

/** Inside of a block, what goes on behind an operator is indented; else a line begins something. */
const indentRun = context =>
  /[-+*/=<>&|]\s*$/.test(context.state.doc.sliceString(context.node.from, context.pos))
    ? context.baseIndent + context.unit
    : context.continue()

export const relayLanguage = LRLanguage.define({
  name: "relay",
  parser: parser.configure({
    props: [
      indentNodeProp.add({
        Block: delimitedIndent({closing: "}", align: false}),
        "Parentheses Arguments": delimitedIndent({closing: ")", align: false}),
        "List Indices": delimitedIndent({closing: "]", align: false}),
        ListOfType: delimitedIndent({closing: "|]", align: false}),
        Run: indentRun,
        "Let Definition TypeDefinition": continuedIndent({except: /^\s*(?:\}|\{|else\b|def\b|let\b)/}),
        Module: () => 0,
      }),
      foldNodeProp.add({
        "Block Parentheses Arguments List Indices": foldInside,
        ListOfType: node => ({from: node.from + 2, to: node.to - 2}),
        BlockComment: foldComment,
      }),
    ],
  }),
  languageData: {
    commentTokens: {line: "//", block: {open: "/*", close: "*/"}},
    closeBrackets: {brackets: ["(", "[", "{", '"']},
    indentOnInput: /^\s*(?:\}|\)|\]|\|\])$/,
    wordChars: "%@",
  },
})

/** The language as an extension of an editor. */
export const relay = () => new LanguageSupport(relayLanguage)
