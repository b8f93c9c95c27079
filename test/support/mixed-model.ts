import type { ServerResponse } from 'node:http'
import { type Asked, line, refuse, said, sayCalls, sayText } from './model-server.ts'
import { createRandom } from './random.ts'

type Call = [tool: string, args: Record<string, unknown>]

/** A model for a tree of about 50 sessions that misbehaves now and then. What it says depends on the seed and on who asks. */
export type MixedModel = {
  answer(response: ServerResponse, asked: Asked): void
  /** From now on every answer is the last one. */
  calm(): void
}

const childrenOfRoot = 7
const childrenOfChild = 6

export function createMixedModel(seed: number): MixedModel {
  let isCalm = false

  function answer(response: ServerResponse, asked: Asked): void {
    const random = createRandom(hash(`${seed} ${asked.session} ${asked.turn} ${asked.attempt}`))
    if (isCalm) return sayText(response, 'enough')
    if (asked.attempt <= 2 && misbehave(response, random, asked.depth)) return
    const calls = callsOf(asked, random)
    setTimeout(() => {
      if (calls.length > 0) sayCalls(response, ...calls)
      else sayText(response, `the end of ${asked.session}`)
    }, random() * 150)
  }

  return {
    answer,
    calm() {
      isCalm = true
    },
  }
}

/** True when it did; half of a call is never to be run. */
function misbehave(response: ServerResponse, random: () => number, depth: number): boolean {
  const kind = Math.floor(random() * 60)
  const never = { function: { name: 'bash', arguments: { command: 'touch never' } } }
  const half = line(said({ content: 'half ' })) + line(said({ tool_calls: [never] }))
  if (kind <= 4) refuse(response, 503, 'busy', { 'retry-after-ms': String(Math.floor(random() * 200)) })
  else if (kind === 5) response.socket?.destroy()
  else if (kind === 6) response.end(half)
  else if (kind === 7) response.end(`${half}{"mess\n`)
  else if (kind === 8) refuse(response, 500, 'error parsing tool call: {')
  else if (kind === 9 && depth > 0) refuse(response, 400, 'no')
  else if (kind === 10) response.write(line(said({ content: 'and then silence' })))
  else if (kind !== 11 || depth === 0) return false
  return true
}

function callsOf({ depth, session, turn }: Asked, random: () => number): Call[] {
  if (turn === 1 && depth < 2) return launches(depth === 0 ? childrenOfRoot : childrenOfChild, random)
  if (depth === 0) return turn < 6 && random() < 0.5 ? [control(childrenOfRoot, random)] : []
  if (turn > 4 || random() < 0.2) return []
  const count = 1 + Math.floor(random() * 3)
  return Array.from({ length: count }, (_, n) =>
    depth === 1 && random() < 0.4 ? control(childrenOfChild, random) : work(`${session}.${turn}.${n}`, random),
  )
}

function launches(count: number, random: () => number): Call[] {
  return Array.from({ length: count }, (_, n) => [
    'task',
    {
      agent: 'general',
      prompt: `part ${n}`,
      background: random() < 0.8,
      ...(random() < 0.2 && { timeout_ms: 500 + Math.floor(random() * 3000) }),
      ...(random() < 0.2 && { max_turns: 1 + Math.floor(random() * 3) }),
    },
  ])
}

function control(children: number, random: () => number): Call {
  const job = `gen-${1 + Math.floor(random() * children)}`
  const kind = Math.floor(random() * 5)
  if (kind === 0) return ['task_cancel', { job }]
  if (kind === 1) return ['task_send', { job, message: 'also this', interrupt: random() < 0.5 }]
  if (kind === 2) return ['task_wait', { jobs: random() < 0.5 ? [job] : [], timeout_ms: Math.floor(random() * 2000) }]
  if (kind === 3) return ['read_sub_agent', { job }]
  return ['task', { agent: 'general', prompt: 'once more', job, background: random() < 0.5 }]
}

/** Commands are asked about; each writes a token of its own. */
function work(token: string, random: () => number): Call {
  const kind = Math.floor(random() * 6)
  if (kind <= 2) return ['bash', { command: `echo ${token} >> tokens.txt; sleep ${(random() / 5).toFixed(2)}` }]
  if (kind === 3) return ['edit', { file_path: 'shared.txt', old_string: 'END', new_string: `${token}\nEND` }]
  if (kind === 4) return ['read', { file_path: 'shared.txt' }]
  return ['glob', { pattern: `*.${token}` }]
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let sum = 0x811c9dc5
  for (const char of text) sum = Math.imul(sum ^ char.charCodeAt(0), 0x01000193)
  return sum >>> 0
}
