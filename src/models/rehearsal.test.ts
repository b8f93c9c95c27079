import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { SessionId } from '../core/ids.ts'
import type { ModelMessage, ModelReply } from '../core/model.ts'
import { createModel } from './create-model.ts'

/** The script without its pauses. */
const folder = mkdtempSync(join(tmpdir(), 'rehearsal-'))
const path = join(folder, 'rehearsal.yaml')
const script = readFileSync(new URL('../../examples/rehearsal.yaml', import.meta.url), 'utf8')
writeFileSync(path, script.replace(/(delayMs|chunkMs): \d+/g, '$1: 0'))
afterAll(() => rmSync(folder, { recursive: true }))

const profile = { ref: `scripted:${path}`, contextTokens: 16_384, tools: true }
const model = createModel({ provider: 'scripted', path, profile })

const tools = ['task', 'glob', 'grep', 'read'].map((name) => ({ name, description: '', parameters: {} }))

/** What the model says to a conversation; `turn` counts from 1. */
function say(depth: number, turn: number, messages: ModelMessage[]): Promise<ModelReply> {
  const agent = depth === 0 ? 'lead' : 'explorer'
  const facts = { agent, depth, session: 's' as SessionId, turn, attempt: 1, purpose: 'turn' as const }
  const request = { system: '', messages, tools, facts, contextTokens: 16_384 }
  return model.stream(request, () => {}, new AbortController().signal)
}

/** A child's whole conversation, its calls answered by `outputs` in turn. */
async function playChild(prompt: string, outputs: string[]): Promise<{ calls: object[]; text: string }> {
  const messages: ModelMessage[] = [{ role: 'user', text: prompt }]
  const calls: object[] = []
  for (let turn = 1; ; turn++) {
    const reply = await say(1, turn, messages)
    const [call] = reply.calls
    if (!call) return { calls, text: reply.text }
    calls.push(call)
    const id = `call_${turn}`
    messages.push({ role: 'assistant', text: reply.text, calls: [{ id, tool: call.tool, args: call.args }] })
    messages.push({ role: 'tool', id, tool: call.tool, output: outputs[turn - 1] ?? '', isError: false })
  }
}

const wanted = await say(0, 1, [{ role: 'user', text: 'What is this (and why)? $& {{last}}' }])
const prompts = wanted.calls.map(({ args }) => String(args.prompt))

test('lead sends three explorers in the background, whatever the prompt says', () => {
  expect(wanted.calls).toHaveLength(3)
  for (const { tool, args } of wanted.calls) {
    expect(tool).toBe('task')
    expect(args).toMatchObject({ agent: 'explorer', background: true })
    expect(args.prompt).toContain('The user asked: What is this (and why)? $& {{last}}')
  }
})

test('the first explorer counts the files by kind and reads one of them', async () => {
  const files =
    'src/[id].ts\nlogo.png\nsrc/b with blanks.ts\nMakefile\n[showing the newest 4 of 900 files; use a narrower pattern or path]'
  const { calls, text } = await playChild(prompts[0]!, [files, '     1\timport x\n     2\tfoo()'])
  expect(calls).toEqual([
    { tool: 'glob', args: { pattern: '**/*' } },
    { tool: 'read', args: { file_path: 'src/[id].ts', limit: 12 } },
  ])
  expect(text).toContain('Files seen: 4 (2 .ts, 1 .png, 1 without ending). [showing the newest 4 of 900 files')
  expect(text).toContain('import x')
})

test('in an empty folder each explorer says that there is nothing', async () => {
  const none = 'No files match **/*.'
  expect((await playChild(prompts[0]!, [none])).text).toBe('The folder has no files.')
  expect((await playChild(prompts[1]!, ['No files match [Rr][Ee][Aa][Dd][Mm][Ee]*.'])).text).toMatch(/no README/)
  expect((await playChild(prompts[2]!, ['No matches for \\b(TODO|FIXME|HACK)\\b in 0 files.'])).text).toMatch(
    /^No line/,
  )
})

test('the second explorer reads the README at the top, not one further down', async () => {
  const { calls, text } = await playChild(prompts[1]!, ['lib/README.md\nReadme.rst', '     1\tA title'])
  expect(calls[1]).toMatchObject({ tool: 'read', args: { file_path: 'Readme.rst' } })
  expect(text).toContain('A title')
  expect((await playChild(prompts[1]!, ['lib/README.md'])).text).toBe('The folder has no README.')
})

test('the third explorer counts the marked lines and shows the first', async () => {
  const { text } = await playChild(prompts[2]!, ['a.ts:3: // TODO one\nb.ts:9: // FIXME two'])
  expect(text).toContain('HACK: 2.')
  expect(text).toContain('b.ts:9: // FIXME two')
})

test('lead sums up once all three are back, and waits before', async () => {
  const history: ModelMessage[] = [{ role: 'user', text: 'go' }]
  for (const [index, alias] of ['exp-1', 'exp-2', 'exp-3'].entries()) {
    const call = { id: alias, tool: 'sub_agent_result', args: { job: alias, agent: 'explorer', state: 'completed' } }
    history.push({ role: 'assistant', text: '', calls: [call] })
    history.push({ role: 'tool', id: alias, tool: 'sub_agent_result', output: `found ${alias}`, isError: false })
    const { text, calls } = await say(0, index + 2, history)
    expect(calls).toEqual([])
    expect(text).toContain(
      index < 2 ? `So far ${index + 1} of the three` : 'exp-1: found exp-1\nexp-2: found exp-2\nexp-3: found exp-3',
    )
  }
})
