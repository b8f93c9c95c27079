import { measureNode } from '../support/measure-process.mjs'
import { startServer } from '../support/server-process.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

const charsPerToken = 4

/** What `lead` sends first: system prompt, skills, tools and a short prompt, at four characters a token. */
export async function firstRequest() {
  return [
    { figure: 'first request, compact', value: await tokensOf('3B'), unit: 'tokens', goal: 2000 },
    { figure: 'first request, full', value: await tokensOf('70B'), unit: 'tokens', goal: 6000 },
  ]
}

async function tokensOf(size) {
  const place = createWorkplace()
  const server = await startServer([benchFile('programs/request-server.mjs'), size])
  try {
    const env = { ...place.env, OLLAMA_HOST: server.url }
    await measureNode([benchFile('programs/run-troupe.mjs'), 'ollama/bench', place.dir], { env })
    const { messages, tools } = JSON.parse((await server.stop()).trim().split('\n').at(-1))
    const texts = [...messages.map(({ content }) => content), ...tools.map((tool) => JSON.stringify(tool.function))]
    return Math.ceil(texts.join('').length / charsPerToken)
  } finally {
    await server.stop()
    place.remove()
  }
}
