import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { assembleTroupe, type Troupe } from '../src/create-troupe.ts'
import { createWorkplace, type Workplace } from './support/workplace.ts'

const misbehaves = resolve(import.meta.dirname, 'fixtures/workers/misbehaves.mjs')
const closes = resolve(import.meta.dirname, 'fixtures/programs/runs-and-closes.mjs')

/** What is allowed for a session of which only the summary is kept. */
const maxBytesEach = 20 * 1024

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** What a leak would let grow: things that keep the process up, and the heap. */
function measure() {
  for (let n = 0; n < 4; n++) collectGarbage()
  const ports = process.getActiveResourcesInfo().filter((kind) => kind === 'MessagePort')
  return { ports: ports.length, heapBytes: process.memoryUsage().heapUsed }
}

/** `lead` sends so many children in one message; each answers, after it has read the file if one is given. */
function fanOut(children: number, file?: string) {
  const send = (n: number) => ({ tool: 'task', args: { agent: 'explorer', prompt: `Look, ${n}` } })
  return {
    rules: [
      { when: { agent: 'lead', turn: 1 }, reply: { calls: Array.from({ length: children }, (_, n) => send(n)) } },
      { when: { agent: 'lead' }, reply: { text: 'done' } },
      ...(file
        ? [{ when: { agent: 'explorer', turn: 1 }, reply: { calls: [{ tool: 'read', args: { file_path: file } }] } }]
        : []),
      { when: { agent: 'explorer' }, reply: { text: 'seen' } },
    ],
  }
}

async function open({ dir, dataDir, env, script }: Workplace, rules: object, workerFile?: string): Promise<Troupe> {
  const model = `scripted:${script(rules as never)}`
  const troupe = await assembleTroupe({ dir, dataDir, env, model, permission: 'allow' }, { workerFile })
  onTestFinished(() => troupe.close())
  return troupe
}

/** Runs so many roots, one after the other; the last one's jobs. */
async function runRoots(troupe: Troupe, count: number) {
  let root = ''
  for (let n = 0; n < count; n++) {
    const { status, root: session } = await troupe.run({ prompt: 'go' }).finished
    expect(status).toBe('done')
    root = session
  }
  return troupe.jobs(root)
}

test('2,000 children leave no port behind, and of the heap no more than their summaries', async () => {
  const troupe = await open(createWorkplace(), fanOut(50))
  await runRoots(troupe, 4)
  const before = measure()
  const jobs = await runRoots(troupe, 40)
  const after = measure()
  expect(jobs).toHaveLength(50)
  expect(jobs.every(({ state, delivered }) => state === 'completed' && delivered)).toBe(true)
  expect(after.ports).toBe(before.ports)
  expect((after.heapBytes - before.heapBytes) / 2000).toBeLessThan(maxBytesEach)
}, 600_000)

test('a worker that dies leaves no port behind', async () => {
  const workplace = createWorkplace({ 'a.txt': 'one\n', 'trap.exit7': '0' })
  const troupe = await open(workplace, fanOut(1, 'trap.exit7'), misbehaves)
  let deaths = 0
  troupe.events.subscribe(({ type }) => {
    if (type === 'worker.died') deaths += 1
  })
  await runRoots(troupe, 1)
  const before = measure()
  workplace.write('trap.exit7', '1')
  await runRoots(troupe, 1)
  expect(deaths).toBe(1)
  expect(measure().ports).toBe(before.ports)
})

test('a program that runs and closes ends by itself', () => {
  const workplace = createWorkplace({ 'a.txt': 'one\n' })
  const model = `scripted:${workplace.script(fanOut(3, 'a.txt'))}`
  const { status, stdout, stderr } = spawnSync(process.execPath, [closes, model, workplace.dir], {
    env: workplace.env,
    encoding: 'utf8',
    timeout: 50_000,
  })
  expect(stderr).toBe('')
  expect(stdout).toBe('done\n')
  expect(status).toBe(0)
})
