import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTroupe, type RunFinished } from '../src/index.ts'
import { chaosAnswer, chaosFiles, chaosScript } from './support/chaos-script.ts'
import { checkInvariants, describeJournals } from './support/check-invariants.ts'
import { chanceSeed, createRandom, isLongChaos } from './support/random.ts'
import { createWorkplace, type Workplace } from './support/workplace.ts'

const root = 'chaos'

/** Lines of a journal, without their ends. */
type Journals = Map<string, string[]>

/** A run of the chaos script that came to its end: its journals, and its files afterwards. */
type Finished = { workplace: Workplace; journals: Journals; files: Record<string, string> }

async function playToTheEnd(): Promise<Finished> {
  const workplace = createWorkplace(chaosFiles)
  const told = await withTroupe(workplace, (troupe) => troupe.run({ prompt: 'go', session: root }).finished)
  expect(told).toMatchObject({ status: 'done', text: chaosAnswer })
  const names = readdirSync(workplace.dir)
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(workplace.dir, name), 'utf8')]))
  return { workplace, journals: readJournals(workplace), files }
}

describe('the result that a parent has counts more than the lost end of the journal of a child', () => {
  const session = 'chaos-gen-1'

  test('whatever the child has lost, nothing of it runs again', async () => {
    const run = await playToTheEnd()
    const whole = linesOf(run, session)
    const step = isLongChaos ? 1 : 5
    for (let kept = whole.length - 1; kept > 0; kept -= step) {
      const journals: Journals = new Map(run.journals)
      journals.set(root, taken(run, session)).set(session, whole.slice(0, kept))
      await expectRecovered(run, journals)
    }
  })

  test('a child without a journal is not begun again', async () => {
    const run = await playToTheEnd()
    const journals: Journals = new Map(run.journals)
    journals.set(root, taken(run, session)).delete(session)
    await expectRecovered(run, journals, [session])
  })
})

const rounds = isLongChaos ? 300 : 20

test(`the power fails ${rounds} times: journals lose what was not on the disk, each as it comes, and the run ends as it should`, async () => {
  const run = await playToTheEnd()
  const seed = chanceSeed()
  for (let round = 0; round < rounds; round += 1) {
    await expectRecovered(run, cutJournals(run, createRandom(seed + round))).catch((thrown) => {
      throw new Error(`TROUPE_CHAOS_SEED=${seed + round}: ${thrown.message}`)
    })
  }
}, 1_800_000)

/** The journal of the root up to the beginning of its last turn: by then it has taken up the result of the child. */
function taken(run: Finished, child: string): string[] {
  const lines = linesOf(run, root)
  const records = lines.map((line) => JSON.parse(line))
  const received = records.find(({ type, message }) => type === 'message.received' && message.job === child)
  const last = records.findLastIndex(({ type }) => type === 'turn.started')
  expect(records.findIndex(({ consumed }) => consumed?.includes(received.seq))).toBeLessThanOrEqual(last)
  return lines.slice(0, last + 1)
}

/**
 * Each journal ends at random, but behind what is on the disk before a side-effecting call starts: the call's beginning
 * and the launches that led to it.
 */
function cutJournals({ journals }: Finished, random: () => number): Journals {
  const cut: Journals = new Map()
  for (const [session, lines] of journals) {
    const synced = lines.findLastIndex((line) => isSynced(journals, JSON.parse(line))) + 1
    const kept = Math.max(1, synced) + Math.floor(random() * (lines.length - Math.max(1, synced) + 1))
    cut.set(session, lines.slice(0, kept))
  }
  return cut
}

function isSynced(journals: Journals, { type, job }: { type: string; job?: string }): boolean {
  return type === 'call.started' || (type === 'job.launched' && actsOnTheWorld(journals, job ?? ''))
}

function actsOnTheWorld(journals: Journals, session: string): boolean {
  const family = [...journals].filter(([one]) => one === session || one.startsWith(`${session}-`))
  return family.some(([, lines]) => lines.some((line) => JSON.parse(line).type === 'call.started'))
}

/** Puts these journals, and the files as they were at the end, in place of what there is; resumes, and checks all of it. */
async function expectRecovered({ workplace, files }: Finished, journals: Journals, lost: string[] = []): Promise<void> {
  const folder = join(workplace.dataDir, 'sessions', root)
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) workplace.write(name, text)
  for (const [session, lines] of journals) {
    const text = lines.map((line) => `${line}\n`).join('')
    writeFileSync(join(folder, `${session}.jsonl`), text)
  }
  const told = await withTroupe(workplace, (troupe) => troupe.resume(root).finished)
  if (told.status !== 'done' || told.text !== chaosAnswer) {
    throw new Error(`${JSON.stringify(told)}\n${describeJournals({ dataDir: workplace.dataDir, root })}`)
  }
  const tokenFile = join(workplace.dir, 'tokens.txt')
  await checkInvariants({ dataDir: workplace.dataDir, root, tokenFile, jobs: told.jobs, lost })
  const stillLost = lost.filter((session) => !existsSync(join(folder, `${session}.jsonl`)))
  expect(stillLost).toEqual(lost)
}

async function withTroupe(
  workplace: Workplace,
  work: (troupe: Awaited<ReturnType<typeof createTroupe>>) => Promise<RunFinished>,
): Promise<RunFinished> {
  const { dir, dataDir, env } = workplace
  const model = `scripted:${workplace.script(chaosScript)}`
  const troupe = await createTroupe({ dir, dataDir, env, model, permission: 'allow', config: { maxDepth: 3 } })
  try {
    return await work(troupe)
  } finally {
    await troupe.close()
  }
}

function linesOf({ journals }: Finished, session: string): string[] {
  return journals.get(session) ?? []
}

function readJournals({ dataDir }: Workplace): Journals {
  const folder = join(dataDir, 'sessions', root)
  const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  return new Map(
    names.map((name) => [name.slice(0, -'.jsonl'.length), readFileSync(join(folder, name), 'utf8').trim().split('\n')]),
  )
}
