// Types that are not written, where they could be.
import {StateEffect, StateField} from "@codemirror/state"
import {Decoration, EditorView, WidgetType} from "@codemirror/view"

class Inlay extends WidgetType {
  constructor(inlay) {
    super()
    this.inlay = inlay
  }

  eq(other) {
    return other.inlay.whole === this.inlay.whole
  }

  toDOM() {
    const made = document.createElement("span")
    made.className = "cm-inlay"
    made.textContent = this.inlay.text
    made.title = this.inlay.whole
    return made
  }
}

const set = StateEffect.define()

/** The inlays of an editor; they move with the text until others are set. */
export const inlays = StateField.define({
  create: () => Decoration.none,
  update(shown, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(set)) {
        const made = effect.value.map(i => Decoration.widget({widget: new Inlay(i), side: 1}).range(i.at))
        return Decoration.set(made, true)
      }
    }
    return shown.map(transaction.changes)
  },
  provide: field => EditorView.decorations.from(field),
})

export const setInlays = (view, found) => view.dispatch({effects: set.of(found)})
