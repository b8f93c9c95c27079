// A model server that prints the body of the first chat request, as a line, when it gets SIGTERM. `request-server.mjs SIZE`
// reports a model of that size, such as 3B.
import { createServer } from 'node:http'

const [, , size] = process.argv
let first

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  if (request.url === '/api/show') return response.end(JSON.stringify(model))
  if (request.url === '/api/chat') first ??= Buffer.concat(chunks).toString('utf8')
  const message = { role: 'assistant', content: 'Hello.' }
  response.end(`${JSON.stringify({ message, done: true, done_reason: 'stop', prompt_eval_count: 9, eval_count: 9 })}\n`)
})

const model = {
  details: { family: 'bench', parameter_size: size },
  model_info: { 'general.architecture': 'bench', 'bench.context_length': 32_768 },
  capabilities: ['completion', 'tools'],
}

process.once('SIGTERM', () => {
  process.stdout.write(`\n${first}\n`, () => process.exit(0))
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
