import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { AskAnswer, Run, RunFinished, Troupe } from '../src/index.ts'
import { checkInvariants, describeJournals } from './support/check-invariants.ts'
import { createMixedModel } from './support/mixed-model.ts'
import { createModelStage, type ModelStage, startModelServer } from './support/model-server.ts'
import { chanceSeed, createRandom, isLongChaos } from './support/random.ts'
import { type Threads, watchThreads } from './support/threads.ts'
import { createWorkplace, ofType } from './support/workplace.ts'

const rounds = isLongChaos ? 40 : 2
const roundMs = isLongChaos ? 15_000 : 6_000
/** Far more than anything that still has to end takes. */
const hangMs = 60_000
const root = 'mix'

const options = {
  // Nobody sits there: the test answers what is asked, late or never.
  onAsk: () => new Promise<AskAnswer>(() => undefined),
  allow: ['edit:*'],
  config: { maxDepth: 2, limits: { stallMs: 4000 } },
  entry: { slots: 16, firstByteMs: 1500, silenceMs: 1500 },
}

test(`${rounds} runs of 50 sessions, with every fault at once, end and leave all in order`, async () => {
  const seed = chanceSeed()
  for (let round = 0; round < rounds; round += 1) {
    await playRound(seed + round, round % 2 === 1).catch((thrown) => {
      throw new Error(`TROUPE_CHAOS_SEED=${seed + round}: ${thrown.stack}`)
    })
  }
}, 1_800_000)

/** A while of faults and meddling; then the model is calm and all questions are answered, or the run is cancelled. */
async function playRound(seed: number, isCancelled: boolean): Promise<void> {
  const random = createRandom(seed)
  const model = createMixedModel(seed)
  const server = await startModelServer((response, asked) => model.answer(response, asked))
  const threads = watchThreads()
  const stage = await createModelStage(server, options, createWorkplace({ 'shared.txt': 'END\n' }))
  const { troupe } = stage
  const run = troupe.run({ prompt: 'go', session: root })
  let isOver = false
  void run.finished.then(() => {
    isOver = true
  })
  await untilSpread(stage)
  await meddle({ troupe, run, threads, random })
  model.calm()
  // The interruptions may have ended it by themselves: then there is nothing to cancel.
  const isCut = isCancelled && !isOver
  if (isCut) void run.cancel()
  const finished = await withAnswers(stage, run)
  await expectOrder(stage, finished, isCut)

  const again = await withAnswers(stage, troupe.run({ prompt: 'and now?', session: root }))
  threads.close()
  await expectOrder(stage, again, false)
  await troupe.close()
  const { dataDir, dir } = stage.workplace
  const tokenFile = join(dir, 'tokens.txt')
  await checkInvariants({ dataDir, root, pids: [process.pid], jobs: again.jobs, tokenFile })
}

/** A root that is stopped before it has sent anybody out is no tree. */
async function untilSpread({ events }: ModelStage): Promise<void> {
  while (ofType(events, 'job.launched').length < 8) await pause(20)
}

type Meddling = { troupe: Troupe; run: Run; threads: Threads; random: () => number }

/** What people and the machine do to a run. */
async function meddle({ troupe, run, threads, random }: Meddling): Promise<void> {
  const until = performance.now() + roundMs
  let ends = 0
  while (performance.now() < until) {
    await pause(random() * 150)
    const kind = Math.floor(random() * 24)
    const ask = troupe.asks()[Math.floor(random() * troupe.asks().length)]
    const job = troupe.jobs(root)[Math.floor(random() * troupe.jobs(root).length)]
    if (kind <= 15 && ask) troupe.answer(ask.id, { decision: kind <= 12 ? 'once' : 'reject' })
    else if (kind <= 17 && job) troupe.moveToBackground(job.job)
    else if (kind === 18) sayTo(run)
    else if (kind === 19) void run.interrupt()
    else if (kind === 20 && ends < 3) {
      ends += 1
      threads.endOne(random())
    }
  }
}

/** A run that all the interruptions have ended takes nothing any more, and says so. */
function sayTo(run: Run): void {
  try {
    run.send('by the way')
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: 'run-over' })
  }
}

/** The end of a run whose every question is answered from now on. */
async function withAnswers({ troupe, workplace }: ModelStage, run: Run): Promise<RunFinished> {
  let finished: RunFinished | undefined
  void run.finished.then((event) => {
    finished = event
  })
  const until = performance.now() + hangMs
  while (!finished) {
    for (const { id } of troupe.asks()) troupe.answer(id, { decision: 'reject' })
    await pause(20)
    if (performance.now() > until) {
      const { dataDir } = workplace
      const open = troupe.jobs(root).filter(({ delivered }) => !delivered)
      throw new Error(`The run hangs: ${JSON.stringify(open)}\n${describeJournals({ dataDir, root })}`)
    }
  }
  return finished
}

async function expectOrder(
  { troupe, events, workplace }: ModelStage,
  { jobs, status }: RunFinished,
  isCut: boolean,
): Promise<void> {
  if (isCut) expect(status).toBe('interrupted')
  expect(troupe.asks()).toEqual([])
  expect(jobs.filter(({ state }) => ['running', 'queued', 'waiting'].includes(state))).toEqual([])
  expect(existsSync(join(workplace.dir, 'never'))).toBe(false)
  const told = events.length
  await pause(200)
  expect(events.slice(told)).toEqual([])
}
