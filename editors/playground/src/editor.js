// The editor: CodeMirror with the language, diagnostics with their fixes, hovers and inlays.
import {closeBrackets, closeBracketsKeymap} from "@codemirror/autocomplete"
import {defaultKeymap, history, historyKeymap} from "@codemirror/commands"
import {bracketMatching, foldGutter, foldKeymap, indentOnInput} from "@codemirror/language"
import {lintGutter, lintKeymap, setDiagnostics} from "@codemirror/lint"
import {EditorState, Prec} from "@codemirror/state"
import {
  EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers,
} from "@codemirror/view"
import {relay} from "../../lezer/src/language.js"
import {element} from "./dom.js"
import {inlays, setInlays} from "./inlays.js"
import {markdown} from "./markdown.js"
import {theme} from "./theme.js"

const SEVERITY = {error: "error", warning: "warning", note: "info"}

/** What makes an editor one that is only read; `label` is what it is called. */
export const reading = label => [
  relay(), theme, EditorState.readOnly.of(true), EditorView.editable.of(false), EditorView.lineWrapping,
  EditorView.contentAttributes.of({tabindex: "0", "aria-readonly": "true", "aria-label": label}),
]

/** A program as an element, coloured. */
export const coloured = (doc, label = "Program") => {
  const made = element("div", {class: "code"})
  new EditorView({parent: made, doc, extensions: reading(label)})
  return made
}

const hovers = ask =>
  hoverTooltip(async (view, at) => {
    const doc = view.state.doc
    const found = await ask({ask: "hover", program: doc.toString(), at})
    if (!found?.text || view.state.doc !== doc) return null
    return {
      pos: found.from,
      end: found.to,
      above: true,
      create: () => ({dom: element("div", {class: "hover"}, ...markdown(found.text, text => coloured(text)))}),
    }
  }, {hoverTime: 250})

/** What a diagnostic says, without its place. */
const message = d => [d.message, d.label && `(${d.label})`, d.hint && `\nhint: ${d.hint}`].filter(Boolean).join(" ")

const applied = fix => view => {
  view.dispatch({changes: {from: fix.from, to: fix.to, insert: fix.insert}, userEvent: "input.fix"})
  view.focus()
}

/** A diagnostic as CodeMirror takes it; one without extent is given a character. */
const marked = (d, length) => {
  const from = Math.min(d.from, length)
  const to = Math.min(Math.max(d.to, from + 1), length)
  return {
    from: Math.min(from, Math.max(0, length - 1)),
    to,
    severity: SEVERITY[d.severity] ?? "error",
    source: d.code,
    message: message(d),
    actions: d.fixes.map(fix => ({name: fix.title, apply: applied(fix)})),
  }
}

/** `onChange` is called when the text changed, `onRun` by Ctrl-Enter; `ask` answers hovers. */
export const makeEditor = ({parent, doc, ask, onChange, onRun}) => {
  const run = {key: "Mod-Enter", run: () => (onRun(), true)}
  const view = new EditorView({
    parent,
    doc,
    extensions: [
      lineNumbers(), foldGutter(), lintGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(),
      closeBrackets(), highlightActiveLine(), highlightActiveLineGutter(), relay(), theme, inlays, hovers(ask),
      Prec.highest(keymap.of([run])),
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...foldKeymap, ...lintKeymap]),
      EditorView.contentAttributes.of({"aria-label": "Program", spellcheck: "false", tabindex: "0"}),
      EditorView.updateListener.of(update => update.docChanged && onChange()),
    ],
  })
  return {
    text: () => view.state.doc.toString(),
    replace: text => view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: text}}),
    show: ({diagnostics, inlays: found}, showsTypes) => {
      view.dispatch(setDiagnostics(view.state, diagnostics.map(d => marked(d, view.state.doc.length))))
      setInlays(view, showsTypes ? found : [])
    },
    select: (from, to) => {
      view.dispatch({selection: {anchor: from, head: Math.min(to, view.state.doc.length)}, scrollIntoView: true})
      view.focus()
    },
    apply: fix => applied(fix)(view),
    focus: () => view.focus(),
  }
}
