import fc from 'fast-check'
import { expect, test } from 'vitest'
import { patternsCover, patternsOverlap } from './pattern-sets.ts'

const covers = (wide: string, narrow: string) => patternsCover(wide, narrow)

test.each([
  ['*', 'anything', true],
  ['git *', 'git', true],
  ['git *', 'git push *', true],
  ['git *', 'gitx', false],
  ['git push*', 'git *', false],
  ['src/*', 'src/a?.ts', true],
  ['**/.env', '.env', true],
  ['*/.env', '**/.env', false],
  ['a?', 'a*', false],
])('%s covers %s: %s', (wide, narrow, expected) => {
  expect(covers(wide, narrow)).toBe(expected)
})

test.each([
  ['docs/*', '*.md', true],
  ['docs/*', 'src/*', false],
  ['git *', 'git', true],
  ['a*b', 'a*c', false],
  ['?', '', false],
  ['*', '', true],
])('%s and %s have a text in common: %s', (one, other, expected) => {
  expect(patternsOverlap(one, other)).toBe(expected)
  expect(patternsOverlap(other, one)).toBe(expected)
})

test('what covers a pattern matches every text of it, and what has a common text overlaps', () => {
  const sign = fc.constantFrom('a', 'b', ' ', '*', '?')
  const pattern = fc.array(sign, { maxLength: 6 }).map((signs) => signs.join(''))
  const text = fc.array(fc.constantFrom('a', 'b', ' '), { maxLength: 6 }).map((signs) => signs.join(''))
  fc.assert(
    fc.property(pattern, pattern, text, (one, other, sample) => {
      const inBoth = covers(one, sample) && covers(other, sample)
      if (covers(one, other) && covers(other, sample) && !covers(one, sample))
        expect.fail(`${one} / ${other} / ${sample}`)
      if (inBoth && !patternsOverlap(one, other)) expect.fail(`${one} / ${other} / ${sample}`)
    }),
    { numRuns: 5000, seed: 3 },
  )
})
