import { expect, onTestFinished, test } from 'vitest'
import {
  createTroupe,
  listJobs,
  readTranscript,
  startScriptedServer,
  type TranscriptLine,
  type TroupeOptions,
} from '../src/index.ts'
import { createWorkplace, type Workplace } from './support/workplace.ts'

/**
 * Texts, thinking, several calls in a message, broken arguments, an unknown tool, children in the foreground and in the
 * background, templates.
 */
const script = {
  model: { name: 'played:7b', parameters: '70B', context: 32768 },
  server: { parallel: 4 },
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        thinking: 'Who could look?',
        text: 'I look, and send two.',
        calls: [
          { tool: 'read', args: { file_path: 'a.txt' } },
          { tool: 'task', args: { agent: 'explorer', prompt: 'count lines in b.txt', background: true } },
          { tool: 'bash', args: { command: 'printf "%s\\n" one two', description: 'print' } },
          { tool: 'task', args: { agent: 'general', prompt: 'write c.txt' } },
          { tool: 'read', args: '{"file_path": ' },
          { tool: 'nosuch', args: { a: 1 } },
        ],
      },
    },
    { when: { agent: 'lead', results: 1 }, reply: { text: 'Result: {{results}}' } },
    { when: { agent: 'lead' }, reply: { text: 'I wait.' } },
    {
      when: { agent: 'explorer', turn: 1, prompt: 'lines in (\\S+)' },
      reply: { calls: [{ tool: 'grep', args: { pattern: 'b', path: '{{match.1}}' } }] },
    },
    { when: { agent: 'explorer' }, reply: { text: 'seen: {{last|lines:3}}' } },
    {
      when: { agent: 'general', turn: 1 },
      reply: {
        calls: [
          { tool: 'write', args: { file_path: 'c.txt', content: 'old ü\n' } },
          { tool: 'edit', args: { file_path: 'c.txt', old_string: 'old', new_string: 'new' } },
        ],
      },
    },
    { when: {}, reply: { text: 'done: {{last}}' } },
  ],
}

test('a script gives the same transcripts in process, over HTTP as an Ollama server, and on the inline host', async () => {
  const inProcess = await play((path) => ({ model: `scripted:${path}` }))
  const inline = await play((path) => ({ model: `scripted:${path}`, host: 'inline' }))
  const overHttp = await play(async (path) => {
    const server = await startScriptedServer({ path })
    onTestFinished(() => server.close())
    return { model: 'ollama/played:7b', env: { OLLAMA_HOST: server.url } }
  })
  expect(Object.keys(inProcess)).toEqual(['lead', 'exp-1', 'gen-1'])
  expect(inProcess.lead?.at(-1)?.text).toMatch(/^Result: exp-1: seen: /)
  expect(inline).toEqual(inProcess)
  expect(overHttp).toEqual(inProcess)
})

type Transcripts = Record<string, TranscriptLine[]>

/** Plays the script in a workplace of its own; transcripts by alias, in the order of launch. */
async function play(choose: (script: string) => TroupeOptions | Promise<TroupeOptions>): Promise<Transcripts> {
  const workplace = createWorkplace({ 'a.txt': 'one\ntwo\n', 'b.txt': 'bee\nbig\n' })
  const { dir, dataDir } = workplace
  const chosen = await choose(workplace.script(script))
  const env = { ...workplace.env, ...chosen.env }
  const troupe = await createTroupe({ dir, dataDir, permission: 'allow', ...chosen, env })
  const run = troupe.run({ prompt: 'go' })
  const { status } = await run.finished
  await troupe.close()
  expect(status).toBe('done')
  const jobs = listJobs(run.session, dataDir)
  const sessions = [['lead', run.session], ...jobs.map(({ alias, job }) => [alias, job])] as const
  return Object.fromEntries(
    sessions.map(([alias, session]) => [alias ?? '', normalised(readTranscript(session ?? '', dataDir), workplace)]),
  )
}

/** Without what differs between two places, and without the turn that is there only when the child takes its time. */
function normalised(lines: TranscriptLine[], { dir }: Workplace): TranscriptLine[] {
  const kept = lines.filter(({ text }) => text !== 'I wait.')
  return kept.map((line) => ({ ...line, text: line.text.replaceAll(dir, '<dir>') }))
}
