// A program, its inputs and its passes in the fragment of an address, compressed: no server ever sees it.

const PREFIX = "#1:"
const MAX_CHARS = 1_000_000

const through = async (bytes, stream) => {
  const piped = new Blob([bytes]).stream().pipeThrough(stream)
  return new Uint8Array(await new Response(piped).arrayBuffer())
}

const toText = bytes => {
  let text = ""
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")
}

const toBytes = text =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0))

/** The fragment that stands for what is shared: `{program, entry, inputs, pipeline}`. */
export const fragmentOf = async shared => {
  const bytes = new TextEncoder().encode(JSON.stringify(shared))
  return PREFIX + toText(await through(bytes, new CompressionStream("deflate-raw")))
}

/** At most so many bytes of a stream: a short fragment may stand for gigabytes. */
const bounded = async stream => {
  const reader = stream.getReader()
  const decoder = new TextDecoder("utf-8", {fatal: true})
  let text = ""
  for (;;) {
    const {done, value} = await reader.read()
    if (done) return text + decoder.decode()
    text += decoder.decode(value, {stream: true})
    if (text.length > MAX_CHARS) throw new Error("too long")
  }
}

/** What a fragment stands for; null where it is none of ours, or broken. */
export const sharedIn = async fragment => {
  if (!fragment.startsWith(PREFIX)) return null
  try {
    const bytes = toBytes(fragment.slice(PREFIX.length))
    const text = await bounded(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")))
    const found = JSON.parse(text)
    if (typeof found.program !== "string") return null
    const inputs = Object.entries(found.inputs ?? {}).filter(([, value]) => typeof value === "string")
    return {
      program: found.program,
      entry: String(found.entry ?? ""),
      inputs: Object.fromEntries(inputs),
      pipeline: String(found.pipeline ?? ""),
    }
  } catch {
    return null
  }
}
