import { describe, expect, test } from 'vitest'
import type { SessionSeed } from '../core/records.ts'
import { buildSystem } from './build-system.ts'

const seed = { depth: 0, dir: '/work', agent: { prompt: 'You help.\n' } } as SessionSeed
const build = (texts: [string, string][], contextTokens = 16_384) =>
  buildSystem({
    seed,
    memory: { file: '/work/.troupe/memory.md', parts: texts.map(([origin, text]) => ({ origin, text })) },
    skills: [],
    contextTokens,
  })

describe('what a project says in the system prompt', () => {
  test('names its origin and stands behind the agent and before nothing', () => {
    expect(build([['AGENTS.md', 'use tabs']])).toMatch(
      /^You help\.\n[\s\S]*tell whoever works in it:\n\nFrom AGENTS\.md:\nuse tabs$/,
    )
    expect(build([])).not.toContain('project')
  })

  test('takes an eighth of the context at most; long texts give way to short ones', () => {
    const text = build([
      ['a', 'x'.repeat(100_000)],
      ['b', 'short'],
      ['c', 'y'.repeat(100_000)],
    ])
    expect(text.length).toBeLessThan(16_384 / 2 + 1000)
    expect(text).toContain('From b:\nshort\n')
    expect(text.match(/x{100,}/)![0].length).toBe(text.match(/y{100,}/)![0].length)
    expect(text).toMatch(/\[cut here: \d+ more characters in the file\]$/)
  })

  test('is never cut within a character', () => {
    const text = build([['a', `x${'😀'.repeat(50_000)}`]])
    expect(Buffer.from(text).toString()).toBe(text)
  })
})
