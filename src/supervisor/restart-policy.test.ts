import { describe, expect, test } from 'vitest'
import { type Crash, decideRestart, restartsFailures } from './restart-policy.ts'

function crash(given: Partial<Crash> = {}): ReturnType<typeof decideRestart> {
  return decideRestart({ restartedAt: [], now: 100_000, random: 1, reason: 'it broke', ...given })
}

describe('a session that crashed', () => {
  test('is restarted three times within a minute by default, then no more', () => {
    let restartedAt: number[] = []
    for (const now of [0, 10_000, 20_000]) {
      const decision = crash({ restartedAt, now })
      if (!decision.restart) throw new Error(decision.why)
      restartedAt = decision.restartedAt
    }
    expect(crash({ restartedAt, now: 59_999 })).toEqual({
      restart: false,
      code: 'restarted-too-often',
      why: 'It crashed 4 times within 60 s, and 3 restarts are allowed in that time. The last reason: it broke',
    })
    expect(crash({ restartedAt, now: 60_000 })).toMatchObject({ restart: true, restartedAt: [10_000, 20_000, 60_000] })
  })

  test('waits longer each time, at most 10 s, anywhere between nothing and the bound', () => {
    const delay = (restarts: number, random: number) => {
      const restartedAt = Array.from({ length: restarts }, () => 100_000)
      const decision = crash({ restartedAt, random, policy: { maxRestarts: 100 } })
      return decision.restart ? decision.delayMs : undefined
    }
    expect([0, 1, 2, 10].map((restarts) => delay(restarts, 1))).toEqual([500, 1000, 2000, 10_000])
    expect(delay(3, 0)).toBe(0)
    expect(delay(3, 0.5)).toBe(2000)
  })

  test('is not restarted when its agent is temporary, or allows no restart', () => {
    expect(crash({ policy: { restart: 'temporary' } })).toMatchObject({ restart: false, code: 'crashed' })
    expect(crash({ policy: { maxRestarts: 0 } })).toMatchObject({
      why: expect.stringContaining('crashed 1 time within'),
    })
  })
})

test('only a permanent session starts again after its model failed', () => {
  expect(restartsFailures({ restart: 'permanent' })).toBe(true)
  expect(restartsFailures({ restart: 'transient' })).toBe(false)
  expect(restartsFailures(undefined)).toBe(false)
})
