import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type ChaosPlace,
  createChaosPlace,
  expectRecovered,
  type KillMoment,
  type Life,
} from './support/chaos-place.ts'
import { chaosAnswer, chaosFiles, chaosScript, chaosTokens } from './support/chaos-script.ts'
import { chanceSeed, createRandom, isLongChaos } from './support/random.ts'

const kills = isLongChaos ? 200 : 20
const seed = chanceSeed()

/** About the length of an undisturbed run with its start, and about how many events it tells. */
const span = { ms: 1500, events: 170 }

test('a run that nothing disturbs ends with the answer and everything in order', async () => {
  const place = createChaosPlace(chaosFiles, chaosScript)
  await expectRecovered(place, await place.run(), chaosAnswer)
  const tokens = readFileSync(join(place.workplace.dir, 'tokens.txt'), 'utf8').trim().split('\n')
  expect(tokens.sort()).toEqual([...chaosTokens].sort())
})

test(`after ${kills} times kill -9 at a random moment everything ends as it should, nothing twice, nothing lost`, {
  timeout: isLongChaos ? 7_200_000 : 300_000,
}, async () => {
  let done = 0
  for (let round = 0; done < kills; round += 1) done += await playRound(seed + round)
})

/** One run, killed two to four times, then resumed to its end. Returns how often it was killed. */
async function playRound(roundSeed: number): Promise<number> {
  const random = createRandom(roundSeed)
  const place = createChaosPlace(chaosFiles, chaosScript)
  const moments = Array.from({ length: 2 + Math.floor(random() * 3) }, () => momentOf(random))
  let killed = 0
  try {
    for (const kill of moments) {
      const life = await nextLife(place, kill)
      if (life.code === null) killed += 1
    }
    await expectRecovered(place, await nextLife(place), chaosAnswer)
  } catch (thrown) {
    const how = `TROUPE_CHAOS_SEED=${roundSeed}, kills at ${JSON.stringify(moments)}`
    throw new Error(`${how}: ${thrown instanceof Error ? thrown.message : thrown}`)
  }
  return killed
}

/** Resumes the session; one that was killed before it had begun is rightly unknown, and is begun again. */
async function nextLife(place: ChaosPlace, kill?: KillMoment): Promise<Life> {
  if (place.pids.length === 0) return place.run({ kill })
  const life = await place.resume({ kill })
  if (life.code !== 2) return life
  expect(life.stderr).toContain(`There is no session ${place.session}.`)
  return place.run({ kill })
}

function momentOf(random: () => number): KillMoment {
  const part = random()
  return random() < 0.4 ? { afterMs: Math.round(part * span.ms) } : { afterEvents: 1 + Math.floor(part * span.events) }
}
