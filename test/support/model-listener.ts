import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { startScriptedServer } from '../../src/models/scripted/scripted-server.ts'

/** A request as it came over the wire: its system prompt, and everything that counts as input, as text. */
export type Heard = { agent: string; system: string; input: string }

/** A model server (Ollama's protocol) that plays a script and remembers what it was sent; closed after the test. */
export async function startListener(path: string): Promise<{ url: string; seen: Heard[] }> {
  const scripted = await startScriptedServer({ path })
  const seen: Heard[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    if (request.url === '/api/chat') seen.push(heard(String(request.headers['x-troupe-agent']), body))
    const headers = Object.entries(request.headers).filter(([name]) => /^(x-troupe|content-type)/.test(name))
    const { method } = request
    const init = { method, headers: Object.fromEntries(headers) as Record<string, string> }
    const reply = await fetch(scripted.url + request.url, method === 'GET' ? init : { ...init, body })
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? 'text/plain' })
    response.end(Buffer.from(await reply.arrayBuffer()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await scripted.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

type Chat = { messages: { content: string }[]; tools?: { function: object }[] }

function heard(agent: string, body: Buffer): Heard {
  const { messages, tools = [] } = JSON.parse(body.toString()) as Chat
  const texts = [...messages.map(({ content }) => content), ...tools.map((tool) => JSON.stringify(tool.function))]
  return { agent, system: messages[0]!.content, input: texts.join('\n') }
}
