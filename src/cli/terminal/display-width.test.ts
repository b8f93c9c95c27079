import fc from 'fast-check'
import { expect, test } from 'vitest'
import { displayWidth, padTo, truncate, wrap } from './display-width.ts'

test('wide characters take two columns, combining marks none', () => {
  expect(displayWidth('abc')).toBe(3)
  expect(displayWidth('日本語')).toBe(6)
  expect(displayWidth('e\u0301')).toBe(1)
  expect(displayWidth('🚀')).toBe(2)
})

test('cutting and filling give the width that was asked for', () => {
  expect(truncate('abcdef', 4)).toBe('abc…')
  expect(truncate('日本語', 4)).toBe('日…')
  expect(padTo('ab', 4)).toBe('ab  ')
  expect(displayWidth(padTo('日本語テキスト', 9))).toBe(9)
})

test('wrapping loses no character and makes no line too wide', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 2, max: 40 }), (text, columns) => {
      const lines = wrap(text, columns)
      expect(lines.join('')).toBe(text)
      for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns)
    }),
  )
})
