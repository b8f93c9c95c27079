import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { SkillDefinition } from '../core/agent.ts'
import type { ProcessOutcome } from '../core/messages.ts'
import { allTools } from './all-tools.ts'
import type { ToolServices } from './define-tool.ts'
import { type ToolTrial, toolContract } from './testing/tool-contract.ts'
import { createToolWorld, removeToolWorlds, type ToolWorld } from './testing/tool-world.ts'

const manyLines = Array.from({ length: 3000 }, (_, i) => `line ${i} of a text that goes on`).join('\n')
const todos = [{ content: 'Write tests', status: 'in_progress' as const, priority: 'high' as const }]

const outcome = (head: string): ProcessOutcome => ({
  head,
  tail: '',
  totalBytes: head.length,
  droppedBytes: 0,
  exitCode: 0,
  signal: null,
  ended: 'exited',
  leftRunning: 0,
  durationMs: 1,
})

function skillIn(world: ToolWorld, text: string): SkillDefinition {
  const path = join(dirname(world.dir), 'skills/review/SKILL.md')
  mkdirSync(join(dirname(path), 'scripts'), { recursive: true })
  writeFileSync(path, text)
  writeFileSync(join(dirname(path), 'scripts/run.sh'), 'echo run\n')
  return { name: 'review', description: 'Reviews.', path, source: { kind: 'user' } }
}

const contractSkill = join(mkdtempSync(join(tmpdir(), 'troupe-skill-')), 'SKILL.md')
afterAll(() => rmSync(dirname(contractSkill), { recursive: true }))
writeFileSync(contractSkill, `---\nname: s\n---\n${manyLines}\n`)
const skills: SkillDefinition[] = [{ name: 's', description: '', path: contractSkill, source: { kind: 'user' } }]

const website = createServer((request, response) => {
  response.setHeader('content-type', 'text/plain')
  response.end(request.url === '/long' ? manyLines : 'A page.')
})
await new Promise<void>((resolve) => website.listen(0, '127.0.0.1', resolve))
afterAll(() => void website.close())
const site = `http://127.0.0.1:${(website.address() as AddressInfo).port}`

const trials: Record<string, ToolTrial> = {
  bash: {
    args: { command: 'echo hi' },
    options: { services: { runProcess: async () => outcome('hi\n') } },
    long: { options: { services: { runProcess: async () => outcome(manyLines) } } },
  },
  read: {
    args: { file_path: 'a.txt' },
    prepare: async (world) => {
      await world.write('a.txt', 'one\n')
      await world.write('long.txt', manyLines)
    },
    long: { args: { file_path: 'long.txt' } },
  },
  edit: {
    args: { file_path: 'a.txt', old_string: 'one', new_string: 'two' },
    prepare: (world) => world.write('a.txt', 'one\n'),
  },
  write: { args: { file_path: 'new/a.txt', content: 'one\n' } },
  glob: {
    args: { pattern: '*.txt' },
    prepare: async (world) => {
      await world.run(`mkdir -p ${'d'.repeat(200)}/${'e'.repeat(200)}; cd d*/e*; touch $(seq -f %gx.txt 200)`)
    },
    long: {},
  },
  grep: {
    args: { pattern: 'line' },
    prepare: (world) => world.write('long.txt', manyLines.replaceAll('text', 'text '.repeat(60))),
    long: {},
  },
  webfetch: {
    args: { url: `${site}/page` },
    options: { fetchHosts: ['127.0.0.1'] },
    long: { args: { url: `${site}/long` } },
  },
  todowrite: { args: { todos } },
  todoread: { args: {}, options: { todos } },
  task: {
    args: { agent: 'explorer', prompt: 'Look.', background: true },
    options: { services: { launch: async () => ({ launched: { alias: 'exp-1', notes: [] } }) } },
  },
  task_send: {
    args: { job: 'exp-1', message: 'Look again.' },
    options: { services: { sendToChild: async () => ({ text: 'sent', isError: false }) } },
  },
  task_wait: {
    args: {},
    options: { services: { waitForJobs: async () => ({ text: 'exp-1 ended', isError: false }) } },
  },
  task_cancel: {
    args: { job: 'exp-1' },
    options: { services: { cancelChild: async () => ({ text: 'stopped', isError: false }) } },
  },
  read_sub_agent: {
    args: { job: 'exp-1' },
    options: { services: { transcript: async () => ({ text: manyLines }) } },
    long: {},
  },
  skill: { args: { name: 's' }, options: { skills }, long: {} },
  update_memory: { args: { content: 'Tests need Node 22.' } },
}

for (const tool of allTools) toolContract(tool, trials[tool.name]!)

describe('task', () => {
  const call = async (args: Record<string, unknown>, launch: ToolServices['launch'], depth = 0) => {
    const world = await createToolWorld()
    const spawnable = [{ name: 'explorer', description: '' }]
    const outcome = await world.call('task', args, { spawnable, depth, services: { launch } })
    return { outcome, asked: world.asked }
  }
  afterAll(removeToolWorlds)

  test('hands all it was given to the supervisor and asks for the agent', async () => {
    const requests: unknown[] = []
    const args = { agent: 'explorer', prompt: 'P', description: 'D', job: 'exp-1', timeout_ms: '5', max_turns: 2 }
    const { outcome, asked } = await call(args, async (request) => {
      requests.push(request)
      return { waiting: true }
    })
    expect(outcome).toEqual({ type: 'waiting' })
    expect(requests).toEqual([
      { agent: 'explorer', prompt: 'P', description: 'D', background: false, job: 'exp-1', timeoutMs: 5, maxTurns: 2 },
    ])
    expect(asked).toEqual([{ key: 'task', pattern: 'explorer' }])
  })

  test('in the background names the alias and says that the result comes by itself', async () => {
    const { outcome } = await call({ agent: 'explorer', prompt: 'P', background: 'true' }, async () => ({
      launched: { alias: 'exp-2', notes: [] },
    }))
    expect(outcome).toMatchObject({ result: { isError: false, output: expect.stringContaining('exp-2') } })
  })

  test('that is refused says why', async () => {
    const { outcome } = await call({ agent: 'x', prompt: 'P' }, async () => ({ refused: 'There is no agent x.' }))
    expect(outcome).toMatchObject({ result: { isError: true, output: 'There is no agent x.' } })
  })
})

describe('skill', () => {
  test('gives the body without its frontmatter, and the files beside it', async () => {
    const world = await createToolWorld()
    const known = [skillIn(world, '---\nname: review\ndescription: d\n---\n# Review\n\n---\n\nkey: value\n')]
    const { output } = await world.result('skill', { name: 'review' }, { skills: known })
    const folder = dirname(known[0]!.path)
    expect(output).toBe(`# Review\n\n---\n\nkey: value\n\nFiles of this skill, in ${folder}:\nscripts/run.sh`)
  })

  test('lets its files be read, unless the skill is denied', async () => {
    const world = await createToolWorld()
    const known = [skillIn(world, 'Body.')]
    const file_path = join(dirname(known[0]!.path), 'scripts/run.sh')
    const only = (key: string) => (request: { key: string }) => ({
      action: request.key === key ? ('allow' as const) : ('deny' as const),
      reason: '',
    })
    const allowed = await world.result('read', { file_path }, { skills: known, decide: only('skill') })
    expect(allowed.output).toContain('echo run')
    const denied = await world.result('read', { file_path }, { skills: known, decide: only('none') })
    expect(denied.how).toBe('denied')
  })

  test('that is unknown is answered with the names there are', async () => {
    const world = await createToolWorld()
    const known = [skillIn(world, 'Body.')]
    const result = await world.result('skill', { name: 'reveiw' }, { skills: known })
    expect(result).toMatchObject({ isError: true })
    expect(result.output).toBe('There is no skill reveiw. Did you mean review? Skills: review.')
  })
})

describe('the to-do list', () => {
  test('is replaced as a whole and shown with its marks', async () => {
    const world = await createToolWorld()
    const list = [{ content: 'a', status: 'completed' }, { content: 'b' }, { content: 'c', priority: 'high' }]
    const result = await world.result('todowrite', { todos: JSON.stringify(list) })
    expect(result.output).toBe('[x] a\n[ ] b\n[ ] c (high)')
    expect(result.todos).toEqual([
      { content: 'a', status: 'completed', priority: 'medium' },
      { content: 'b', status: 'pending', priority: 'medium' },
      { content: 'c', status: 'pending', priority: 'high' },
    ])
    const again = await world.result('todoread', {}, { todos: result.todos })
    expect(again.output).toBe(result.output)
    expect(again.todos).toBeUndefined()
  })
})

describe('read_sub_agent', () => {
  test('pages by the same lines as read', async () => {
    const world = await createToolWorld()
    const services = { transcript: async () => ({ text: 'one\ntwo\nthree' }) }
    const spawnable = [{ name: 'explorer', description: 'Reads code.' }]
    const page = async (args: Record<string, unknown>) =>
      (await world.result('read_sub_agent', { job: 'exp-1', ...args }, { services, spawnable })).output
    expect(await page({ limit: 2 })).toBe(
      'one\ntwo\n[showing lines 1-2 of 3 in exp-1; call read_sub_agent again with offset=3 to continue]',
    )
    expect(await page({ offset: 3 })).toBe('three')
    expect(await page({ offset: 4 })).toBe('exp-1 has 3 lines; offset 4 is past its end.')
    const unknown = await world.result('read_sub_agent', { job: 'exp-9' }, { spawnable })
    expect(unknown).toMatchObject({ isError: true, output: 'no children in this test' })
  })
})
