// The Markdown that hovers are written in: fenced blocks, rules, paragraphs, `code` and **strong**.
import {element} from "./dom.js"

const BLOCK = /```(\w*)\n([\s\S]*?)\n```|(?:^|\n)---(?:\n|$)/g
const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*/g

const inline = text => {
  const parts = []
  let at = 0
  for (const found of text.matchAll(INLINE)) {
    parts.push(text.slice(at, found.index))
    parts.push(found[1] ? element("code", {}, found[1]) : element("strong", {}, found[2]))
    at = found.index + found[0].length
  }
  return [...parts, text.slice(at)]
}

const paragraphs = text =>
  text.split(/\n\s*\n/).filter(part => part.trim()).map(part => element("p", {}, ...inline(part.trim())))

/** The elements of a text; `code` makes a block of the language. */
export const markdown = (text, code) => {
  const made = []
  let at = 0
  for (const found of text.matchAll(BLOCK)) {
    made.push(...paragraphs(text.slice(at, found.index)))
    if (found[2] === undefined) made.push(element("hr"))
    else if (found[1] === "relay") made.push(code(found[2]))
    else made.push(element("pre", {}, found[2]))
    at = found.index + found[0].length
  }
  return [...made, ...paragraphs(text.slice(at))]
}
