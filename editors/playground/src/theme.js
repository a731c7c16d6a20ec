// Light and dark: the page's colours are CSS variables, which the editor uses as well.
import {HighlightStyle, syntaxHighlighting} from "@codemirror/language"
import {EditorView} from "@codemirror/view"
import {tags as t} from "@lezer/highlight"

const colour = name => `var(--${name})`

const frame = EditorView.theme({
  "&": {color: colour("text"), backgroundColor: colour("field"), height: "100%"},
  ".cm-scroller": {fontFamily: colour("mono"), lineHeight: "1.5"},
  ".cm-content": {caretColor: colour("text")},
  ".cm-cursor": {borderLeftColor: colour("text")},
  ".cm-gutters": {backgroundColor: colour("field"), color: colour("faint"), border: "none"},
  ".cm-activeLine, .cm-activeLineGutter": {backgroundColor: colour("line")},
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: `${colour("selection")} !important`,
  },
  ".cm-matchingBracket": {backgroundColor: `${colour("selection")} !important`},
  ".cm-foldPlaceholder": {background: "none", border: "none", color: colour("faint")},
  ".cm-tooltip": {backgroundColor: colour("panel"), border: `1px solid ${colour("border")}`, color: colour("text")},
  ".cm-diagnostic": {fontFamily: colour("mono"), whiteSpace: "pre-wrap"},
  ".cm-diagnosticAction": {
    backgroundColor: colour("accent"), color: colour("on-accent"), font: "inherit", padding: "2px 8px",
  },
  ".cm-inlay": {color: colour("faint"), fontSize: "0.85em"},
  ".cm-changedText, .cm-insertedLine": {background: `${colour("added")} !important`},
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": {background: `${colour("removed")} !important`},
  ".cm-collapsedLines": {background: colour("line"), color: colour("faint")},
})

const colours = HighlightStyle.define([
  {tag: [t.definitionKeyword, t.controlKeyword, t.moduleKeyword, t.keyword], color: colour("keyword")},
  {tag: [t.function(t.variableName), t.definition(t.function(t.variableName))], color: colour("global")},
  {tag: [t.function(t.name)], color: colour("call")},
  {tag: [t.typeName, t.standard(t.typeName), t.definition(t.typeName)], color: colour("type")},
  {tag: [t.number, t.bool], color: colour("number")},
  {tag: t.string, color: colour("string")},
  {tag: t.propertyName, color: colour("attribute")},
  {tag: [t.lineComment, t.blockComment, t.meta], color: colour("comment"), fontStyle: "italic"},
])

export const theme = [frame, syntaxHighlighting(colours)]

const KEY = "relay-playground-theme"
const dark = matchMedia("(prefers-color-scheme: dark)")

/** A button that changes between light and dark; the system's choice holds until it is pressed. */
export const themeButton = button => {
  const chosen = () => localStorage.getItem(KEY) ?? (dark.matches ? "dark" : "light")
  const show = () => {
    document.documentElement.dataset.theme = chosen()
    button.textContent = chosen() === "dark" ? "Light" : "Dark"
    button.setAttribute("aria-label", `${button.textContent} colours`)
  }
  button.addEventListener("click", () => {
    localStorage.setItem(KEY, chosen() === "dark" ? "light" : "dark")
    show()
  })
  dark.addEventListener("change", show)
  show()
}
