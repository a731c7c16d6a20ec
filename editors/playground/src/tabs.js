// Tabs as the ARIA practices describe them: one stop for the Tab key, arrows between them.

/** `onChange` is told the name of a tab when it is shown; the result shows one by its name. */
export const makeTabs = (list, onChange) => {
  const tabs = [...list.querySelectorAll("[role=tab]")]
  const show = (name, focuses = false) => {
    for (const tab of tabs) {
      const chosen = tab.dataset.name === name
      tab.setAttribute("aria-selected", String(chosen))
      tab.tabIndex = chosen ? 0 : -1
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !chosen
      if (chosen && focuses) tab.focus()
    }
    onChange(name)
  }
  list.addEventListener("click", event => {
    const tab = event.target.closest("[role=tab]")
    if (tab) show(tab.dataset.name)
  })
  list.addEventListener("keydown", event => {
    const at = tabs.indexOf(document.activeElement)
    const next = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1}[event.key]
    if (at < 0 || next === undefined) return
    event.preventDefault()
    show(tabs[(next + tabs.length) % tabs.length].dataset.name, true)
  })
  return {show, shown: () => tabs.find(tab => tab.tabIndex === 0).dataset.name}
}
