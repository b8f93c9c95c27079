import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startScriptedServer } from '../src/models/scripted/scripted-server.ts'
import { createStage, createWorkplace, type Script } from './support/workplace.ts'

// What a project tells its agents, over a real wire to a model server.

type Seen = { agent: string; system: string }

/** A model server that plays a script, and what it was sent as system prompt. */
async function startListener(path: string): Promise<{ url: string; seen: Seen[] }> {
  const scripted = await startScriptedServer({ path })
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    if (request.url === '/api/chat') {
      const [system] = (JSON.parse(body.toString()) as { messages: { content: string }[] }).messages
      seen.push({ agent: String(request.headers['x-troupe-agent']), system: system!.content })
    }
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

const script: Script = {
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: { calls: [{ tool: 'task', args: { agent: 'general', prompt: 'Look.' } }] },
    },
    {
      when: { agent: 'general', turn: 1 },
      reply: { calls: [{ tool: 'update_memory', args: { content: 'Tests need Node 22.' } }] },
    },
    { when: {}, reply: { text: 'Done.' } },
  ],
}

test('is in the system prompt of every agent, and the same to the end of its session', async () => {
  const workplace = createWorkplace({ 'AGENTS.md': 'Use tabs.\n', 'CLAUDE.md': 'Run make.\n' })
  const { url, seen } = await startListener(workplace.script(script))
  const config = { servers: { ollama: { url } } }
  const stage = await createStage(workplace, '', { model: 'ollama/scripted', config, permission: 'allow' })
  expect(await stage.play('Go.')).toMatchObject({ status: 'done' })
  expect(readFileSync(join(workplace.dir, '.troupe/memory.md'), 'utf8')).toBe('Tests need Node 22.\n')

  const of = (agent: string) => new Set(seen.filter((request) => request.agent === agent).map(({ system }) => system))
  for (const agent of ['lead', 'general']) {
    const [system, ...others] = of(agent)
    expect(others).toEqual([])
    expect(system).toContain('From AGENTS.md:\nUse tabs.\n\nFrom CLAUDE.md:\nRun make.')
    expect(system).not.toContain('Tests need')
  }

  seen.length = 0
  await stage.play('Go again.')
  expect([...of('lead')][0]).toContain('From .troupe/memory.md:\nTests need Node 22.')
})

test('is changed only after a yes', async () => {
  const workplace = createWorkplace()
  const details: string[] = []
  const stage = await createStage(workplace, script, {
    onAsk: async ({ kind, detail }) => {
      details.push(`${kind} ${detail}`)
      return { decision: 'reject' }
    },
  })
  expect(await stage.play('Go.')).toMatchObject({ status: 'done' })
  expect(details).toEqual([
    expect.stringMatching(/^edit [\s\S]*\+\+\+ b\/\.troupe\/memory\.md[\s\S]*\+Tests need Node 22\./),
  ])
  expect(existsSync(join(workplace.dir, '.troupe/memory.md'))).toBe(false)
})
