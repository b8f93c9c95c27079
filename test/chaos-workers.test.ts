import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chaosAnswer, chaosFiles, chaosScript } from './support/chaos-script.ts'
import { checkInvariants, describeJournals } from './support/check-invariants.ts'
import { chanceSeed, createRandom, isLongChaos } from './support/random.ts'
import { watchThreads } from './support/threads.ts'
import { createStage, createWorkplace, ofType } from './support/workplace.ts'

const rounds = isLongChaos ? 60 : 6
/** About how many events a run tells. */
const span = 170

test(`workers that are ended at random moments, in ${rounds} runs: each run ends as it should, nothing twice, nothing lost`, {
  timeout: isLongChaos ? 3_600_000 : 300_000,
}, async () => {
  const seed = chanceSeed()
  let deaths = 0
  for (let round = 0; round < rounds; round += 1) {
    deaths += await playRound(seed + round).catch((thrown) => {
      throw new Error(`TROUPE_CHAOS_SEED=${seed + round}: ${thrown.message}`)
    })
  }
  expect(deaths).toBeGreaterThan(0)
})

/** One run, in which two threads are ended, each with all sessions on it. Returns how often sessions were aboard. */
async function playRound(seed: number): Promise<number> {
  const random = createRandom(seed)
  const moments = [random(), random()].map((part) => 1 + Math.floor(part * span))
  const workplace = createWorkplace(chaosFiles)
  const threads = watchThreads()
  const options = { permission: 'allow', config: { maxDepth: 3 } } as const
  const { troupe, events } = await createStage(workplace, chaosScript, options)
  troupe.events.subscribe(() => {
    if (moments.includes(events.length)) threads.endOne(random())
  })
  const finished = await troupe.run({ prompt: 'go', session: 'chaos' }).finished
  await troupe.close()
  threads.close()
  expect(finished).toMatchObject({ status: 'done', text: chaosAnswer })
  const notCompleted = ofType(events, 'session.ended').filter(({ state }) => state !== 'completed')
  expect(notCompleted, describeJournals({ dataDir: workplace.dataDir, root: 'chaos' })).toEqual([])
  const tokenFile = join(workplace.dir, 'tokens.txt')
  await checkInvariants({ dataDir: workplace.dataDir, root: 'chaos', jobs: finished.jobs, tokenFile })
  return ofType(events, 'worker.died').length
}
