/** An element with attributes and children; text is text. */
export const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value)
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value)
  }
  made.append(...children)
  return made
}

export const byId = id => document.getElementById(id)

const COLUMN_PIXELS = 8

/** How many characters a line of a program has room for, in each of several programs side by side. */
export const columns = (parent, programs = 1) => Math.floor(parent.clientWidth / programs / COLUMN_PIXELS) - 2
