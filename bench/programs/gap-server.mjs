// A model server that measures its client: the time from the end of a reply to the arrival of the request that follows
// from it. `read` plays one session that reads a small file each turn, `task` one that sends a child each turn,
// `deliver` one that sends a child to the background, is idle, and takes its answer up.
// Prints its address, and the gaps in ms as JSON when it gets SIGTERM.
import { createServer } from 'node:http'

const [, , kind, turns] = process.argv
const gaps = []
let repliedAt

const server = createServer(async (request, response) => {
  const arrivedAt = performance.now()
  if (request.url === '/api/show') return send(response, model)
  if (request.url !== '/api/chat') return send(response, { models: [] })
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const isChild = request.headers['x-troupe-depth'] === '1'
  if (kind === 'deliver') return deliver({ response, isChild, chunks, arrivedAt })
  const turn = Number(request.headers['x-troupe-turn'])
  if (repliedAt !== undefined && (kind === 'read' || isChild)) gaps.push(arrivedAt - repliedAt)
  response.setHeader('content-type', 'application/x-ndjson')
  response.end(reply({ isChild, turn }))
  repliedAt = performance.now()
})

/** A child answers when its parent has been idle for a while. */
function deliver({ response, isChild, chunks, arrivedAt }) {
  response.setHeader('content-type', 'application/x-ndjson')
  if (isChild) return void setTimeout(() => answer(response, text('done')), idleMs)
  const last = JSON.parse(Buffer.concat(chunks)).messages.findLast(({ content }) => !content.startsWith('<job-board>'))
  const isResult = last.role === 'tool' && last.tool_name === 'sub_agent_result'
  if (isResult) gaps.push(arrivedAt - repliedAt)
  if (last.role === 'tool' && !isResult) return response.end(text('waiting'))
  sent += 1
  if (sent > Number(turns)) return response.end(text('done'))
  const args = { agent: 'explorer', prompt: `Say that you are done, ${sent}.`, background: true }
  response.end(line({ ...said('', [{ function: { name: 'task', arguments: args } }]), ...ended }))
}

const idleMs = 20
let sent = 0

function answer(response, body) {
  response.end(body)
  repliedAt = performance.now()
}

const model = {
  details: { family: 'bench', parameter_size: '70B' },
  model_info: { 'general.architecture': 'bench', 'bench.context_length': 1_000_000 },
  capabilities: ['completion', 'tools'],
}

function reply({ isChild, turn }) {
  if (isChild || turn > Number(turns)) return text('done')
  return line({ ...said('', [{ function: call(turn) }]), ...ended })
}

const ended = { done: true, done_reason: 'stop', prompt_eval_count: 10, eval_count: 10 }

function said(content, calls) {
  return { message: { role: 'assistant', content, ...(calls && { tool_calls: calls }) } }
}

function text(content) {
  return line({ ...said(content), ...ended })
}

function call(turn) {
  if (kind === 'read') return { name: 'read', arguments: { file_path: `file-${(turn % 8) + 1}.txt` } }
  return { name: 'task', arguments: { agent: 'explorer', prompt: `Say that you are done, ${turn}.` } }
}

function line(fields) {
  return `${JSON.stringify({ model: 'bench', ...fields })}\n`
}

function send(response, body) {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(body))
}

process.once('SIGTERM', () => {
  process.stdout.write(`\n${JSON.stringify(gaps)}\n`, () => process.exit(0))
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
