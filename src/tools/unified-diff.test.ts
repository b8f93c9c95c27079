import { applyPatch } from 'diff'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as subject from './unified-diff.ts'

const unifiedDiff = (path: string, before: string, after: string) =>
  subject.unifiedDiff(path, Buffer.from(before), Buffer.from(after))

const text = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'c', '', 'a\r', '-- x', '\\ y')), fc.boolean())
  .map(([lines, ended]) => lines.join('\n') + (ended && lines.length > 0 ? '\n' : ''))

test('a diff applied to the old text gives the new one, and counts its lines', () => {
  fc.assert(
    fc.property(text, text, text, text, (head, tail, before, after) => {
      const [old, now] = [`${head}\n${before}${tail}`, `${head}\n${after}${tail}`]
      const { diff, added, removed } = unifiedDiff('f', old, now)
      if (old === now) return diff === ''
      const body = diff.split('\n').slice(2)
      expect(added).toBe(body.filter((line) => line.startsWith('+')).length)
      expect(removed).toBe(body.filter((line) => line.startsWith('-')).length)
      return applyPatch(old, diff, { autoConvertLineEndings: false }) === now
    }),
    { numRuns: 500 },
  )
})

test('texts that have nothing in common are shown as removed and added whole', () => {
  const lines = (mark: string) => Array.from({ length: 5000 }, (_, i) => `${mark}${i}\n`).join('')
  const { diff, added, removed } = unifiedDiff('f', lines('a'), lines('b'))
  expect([added, removed]).toEqual([5000, 5000])
  expect(applyPatch(lines('a'), diff)).toBe(lines('b'))
})

test('a small change of a large text is one small hunk at its line', () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `zeile ${i} äöü\n`)
  const before = lines.join('')
  const after = lines.with(12_345, 'changed\n').join('')
  const { diff } = unifiedDiff('f', before, after)
  expect(diff).toContain('@@ -12343,7 +12343,7 @@\n zeile 12342 äöü\n')
  expect(diff.split('\n')).toHaveLength(12)
  expect(applyPatch(before, diff)).toBe(after)
})

test('many small changes of a large text are many small hunks', () => {
  const lines = Array.from({ length: 30_000 }, (_, i) => `${i} const value = compute()\n`)
  const before = lines.join('')
  const after = lines.map((line, i) => (i % 20 === 0 ? line.replace('const', 'let') : line)).join('')
  const { diff, added, removed } = unifiedDiff('f', before, after)
  expect([added, removed]).toEqual([1500, 1500])
  expect(diff.match(/^@@ /gm)).toHaveLength(1500)
  expect(applyPatch(before, diff)).toBe(after)
})

test('a change of megabytes is shown whole, a larger one only counted', () => {
  const lines = (count: number, word: string) => Array.from({ length: count }, (_, i) => `${i} ${word}\n`).join('')
  const [before, after] = [lines(90_000, 'some words'), lines(90_000, 'other words')]
  expect(unifiedDiff('f', before, after)).toMatchObject({ added: 90_000, removed: 90_000 })
  expect(applyPatch(before, unifiedDiff('f', before, after).diff)).toBe(after)
  const large = unifiedDiff('f', lines(400_000, 'some words'), lines(300_000, 'other'))
  expect(large).toMatchObject({ added: 300_000, removed: 400_000 })
  expect(large.diff).toMatch(/^--- a\/f\n\+\+\+ b\/f\n@@ -1,400000 \+1,300000 @@\n\.\.\. \[\d+ more characters\]$/)
})
