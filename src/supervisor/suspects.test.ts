import { describe, expect, test } from 'vitest'
import { createSuspects } from './suspects.ts'

const sessions = Array.from({ length: 8 }, (_, n) => ({ n }))
const [a, b, c, d, e, f] = sessions as [object, object, object, object, object, object]

describe('a death with a known culprit', () => {
  test('touches nobody else, and the culprit runs apart until it has survived', () => {
    const suspects = createSuspects<object>()
    suspects.judge({ aboard: [a, b, c], culprit: b, started: true })
    expect([a, b, c].map(suspects.verdictOf)).toEqual(['bystander', 'culprit', 'bystander'])
    expect([a, b, c].map(suspects.isApart)).toEqual([false, true, false])
    suspects.clear(b)
    expect(suspects.isApart(b)).toBe(false)
  })
})

describe('a death that nobody explains', () => {
  test('makes suspects of the four whose code ran last', () => {
    const suspects = createSuspects<object>()
    suspects.judge({ aboard: [f, e, d, c, b, a], started: true })
    expect([f, e, d, c, b, a].map(suspects.verdictOf)).toEqual([...Array(4).fill('suspect'), 'bystander', 'bystander'])
  })

  test('prefers those with a tool at work', () => {
    const suspects = createSuspects<object>()
    suspects.judge({ aboard: [a, b, c, d, e, f], busy: new Set([f]), started: true })
    expect([a, b, c, d, e, f].filter(suspects.isApart)).toEqual([a, b, c, f])
  })

  test('puts those first that saw one before and have not survived alone since', () => {
    const suspects = createSuspects<object>()
    suspects.judge({ aboard: [a, b, c, d, e, f], started: true })
    for (const survivor of [a, b, c, d]) suspects.clear(survivor)
    suspects.judge({ aboard: [a, b, c, d, f, e], started: true })
    expect([e, f].map(suspects.isApart)).toEqual([true, true])
    expect([a, b, c, d].filter(suspects.isApart)).toHaveLength(2)
  })
})

test('a worker that never started counts against all that were to run on it, and sets none apart', () => {
  const suspects = createSuspects<object>()
  suspects.judge({ aboard: [a, b], started: false })
  expect([a, b].map(suspects.verdictOf)).toEqual(['culprit', 'culprit'])
  expect([a, b].map(suspects.isApart)).toEqual([false, false])
})
