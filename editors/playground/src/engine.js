// The worker in which Python runs, so that the page stays alive and can stop it.
import {load} from "./loader.js"

const fetchArchive = async () => {
  const response = await fetch(new URL("../relay.zip", import.meta.url))
  if (!response.ok) throw new Error(`relay.zip: ${response.status}`)
  return response.arrayBuffer()
}

const engine = load({importModule: url => import(url), fetchArchive, say: state => postMessage({state})})
engine.catch(error => postMessage({failure: String(error.message ?? error)}))

onmessage = async ({data: {id, request}}) => {
  try {
    const answer = await engine
    postMessage({id, answer: answer(request, log => postMessage({id, log}))})
  } catch (error) {
    postMessage({failure: String(error.message ?? error)})
  }
}
