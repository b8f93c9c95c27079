import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileWildcard, matches } from './wildcard.ts'

test.each([
  ['git *', 'git', true],
  ['git *', 'git status', true],
  ['git *', 'gitx', false],
  ['git *', 'git\nstatus', false],
  ['git *', 'git a\nb', true],
  ['ls *', 'lsof', false],
  ['ls *', 'ls/evil', false],
  ['ls *', 'LS', false],
  ['ls *', 'ls*', false],
  ['*', '', true],
  ['*', 'a\nb', true],
  ['a?c', 'abc', true],
  ['a?c', 'ac', false],
  ['?', '\n', true],
  ['a.c', 'abc', false],
  ['[ab]', 'a', false],
  ['a+', 'aa', false],
  ['*.ts', 'src/a.ts', true],
  ['src/*/b', 'src/x/y/b', true],
  ['a*b*c', 'a-b-c', true],
  ['a*b*c', 'acb', false],
  ['ab*ba', 'aba', false],
  ['*a?c*', 'xxabcxx', true],
  ['', 'a', false],
])('%j on %j is %j', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected)
})

test('a wildcard agrees with the regular expression of the same meaning', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n'), maxLength: 12 })
  const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', ' '), maxLength: 8 })
  fc.assert(
    fc.property(patterns, letters, (pattern, text) => {
      const toRegExp = (of: string) =>
        new RegExp(`^${[...of].map((char) => (char === '*' ? '[^]*' : char === '?' ? '[^]' : char)).join('')}$`)
      const expected =
        toRegExp(pattern).test(text) || (pattern.endsWith(' *') && toRegExp(pattern.slice(0, -2)).test(text))
      expect(compileWildcard(pattern)(text)).toBe(expected)
    }),
    { numRuns: 2000 },
  )
})

test('many stars against a long text that almost matches come to an end', () => {
  const pattern = '*a'.repeat(200)
  expect(matches(`${pattern}b`, 'a'.repeat(200_000))).toBe(false)
  expect(matches(pattern, 'a'.repeat(200_000))).toBe(true)
})
