// The program as a picture: the page that `relay view` makes, in a frame that can reach nothing.
import {byId, element} from "./dom.js"
import {rendered} from "./problems.js"

export class GraphPanel {
  constructor(ask, program) {
    this.ask = ask
    this.program = program
  }

  async show() {
    const request = {ask: "graph", program: this.program()}
    if (request.program === this.drawn) return
    const {html, diagnostics} = await this.ask(request)
    if (request.program !== this.program()) return
    this.drawn = request.program
    const target = byId("picture")
    if (diagnostics) target.replaceChildren(element("pre", {class: "failed", tabindex: "0"}, rendered(diagnostics)))
    else target.replaceChildren(framed(html))
  }
}

/** A frame of another origin, whose page writes what it is sent. */
const framed = html => {
  const frame = element("iframe", {src: "static/frame.html", sandbox: "allow-scripts", title: "Graph of the program"})
  frame.addEventListener("load", () => frame.contentWindow.postMessage(html, "*"), {once: true})
  return frame
}
