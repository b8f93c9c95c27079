// The floor of a fan-out: what any harness has to do, and nothing else. One process, promises, HTTP, JSON, a file read
// and a JSONL append a step: `null-harness.mjs URL DIR DATA_DIR`. A root asks the model, starts a child for each `task`
// call, and asks again with the answers. The same script serves the real thing.
import { appendFileSync, mkdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const [, , url, dir, dataDir] = process.argv
mkdirSync(dataDir, { recursive: true })

const tools = ['read', 'task'].map((name) => ({
  type: 'function',
  function: { name, description: `The ${name} tool.`, parameters: { type: 'object', properties: {} } },
}))

async function session({ id, name, depth, prompt }) {
  const messages = [
    { role: 'system', content: `You are ${name}.` },
    { role: 'user', content: prompt },
  ]
  const journal = join(dataDir, `${id}.jsonl`)
  const record = (entry) => appendFileSync(journal, `${JSON.stringify(entry)}\n`)
  record(messages[1])
  for (let turn = 1; ; turn++) {
    record({ turn })
    const reply = await ask(messages, { id, name, depth, turn })
    record(reply)
    messages.push(reply)
    if (!reply.tool_calls?.length) return reply.content
    const results = await Promise.all(reply.tool_calls.map(({ function: call }, n) => run(call, `${id}-${turn}-${n}`)))
    for (const [n, content] of results.entries()) {
      const message = { role: 'tool', tool_name: reply.tool_calls[n].function.name, content }
      record(message)
      messages.push(message)
    }
  }
}

function run({ name, arguments: args }, id) {
  if (name === 'read') return readFile(join(dir, args.file_path), 'utf8')
  return session({ id, name: args.agent, depth: 1, prompt: args.prompt })
}

async function ask(messages, { id, name, depth, turn }) {
  const body = JSON.stringify({ model: 'scripted', messages, tools, stream: true })
  const headers = {
    'content-type': 'application/json',
    'x-troupe-agent': name,
    'x-troupe-depth': String(depth),
    'x-troupe-session': id,
    'x-troupe-turn': String(turn),
  }
  const response = await fetch(`${url}/api/chat`, { method: 'POST', headers, body })
  const message = { role: 'assistant', content: '' }
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  for (const line of text.split('\n').filter(Boolean)) {
    const { message: part } = JSON.parse(line)
    message.content += part.content
    if (part.tool_calls) message.tool_calls = [...(message.tool_calls ?? []), ...part.tool_calls]
  }
  return message
}

const began = performance.now()
await session({ id: 'root', name: 'lead', depth: 0, prompt: 'Go' })
console.log(JSON.stringify({ runMs: performance.now() - began }))
